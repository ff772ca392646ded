"""SQL that knows a schema."""

from cfgguide.sql.names import Schema as Schema
from cfgguide.sql.names import with_schema as with_schema
