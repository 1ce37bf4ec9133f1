-- No plan may depend on which LARPs there were when statistics were last taken. With one long LARP in them the planner
-- expects nothing of any other, and begins with all events of a new one; without, it expects some of every LARP.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT relname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'skuggbok'::regnamespace AND relkind = 'r' AND attname = 'larp' AND NOT attisdropped
    LOOP
        EXECUTE format('ALTER TABLE skuggbok.%I ALTER COLUMN larp SET STATISTICS 0', name);
        -- Those that there are stay otherwise, and grow old. Before PostgreSQL 18 nobody can take them away.
        IF to_regproc('pg_clear_attribute_stats') IS NOT NULL THEN
            EXECUTE format('SELECT pg_clear_attribute_stats(%L, %L, %L, false)', 'skuggbok', name, 'larp');
        END IF;
    END LOOP;
END $$;
