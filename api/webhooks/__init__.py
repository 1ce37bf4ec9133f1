"""Webhooks: a LARP's events, sent to where its organisers want them. Kept, signed, guarded and delivered from here."""
