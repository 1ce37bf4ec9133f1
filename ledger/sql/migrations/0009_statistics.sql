-- No plan may depend on which LARPs there were when statistics were last taken. With one long LARP in them the planner
-- expects nothing of any other, and begins with all events of a new one; without, it expects some of every LARP.
DO $$
DECLARE
    name regclass;
BEGIN
    FOR name IN
        SELECT attrelid::regclass FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'skuggbok'::regnamespace AND relkind = 'r' AND attname = 'larp' AND NOT attisdropped
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN larp SET STATISTICS 0', name);
    END LOOP;
END $$;
