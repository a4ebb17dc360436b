import type { Sql } from './sql.ts'

/**
 * Returns the migrations, of the kernel and of plugins, that have run since a time and that an earlier version cannot undo.
 *
 * @param since in the form of ISO 8601
 * @returns their names, such as `"2-index" of "notes"`
 */
export function contractionsSince(sql: Sql, since: string): string[] {
  const kernel = sql.all("SELECT id FROM kernel_schema WHERE change <> 'expand' AND applied_at >= ?", since)
  const plugins = sql.all(
    "SELECT id, plugin FROM plugin_migrations WHERE migration_change <> 'expand' AND applied_at >= ?",
    since,
  )
  return [...kernel.map(({ id }) => `"${id}"`), ...plugins.map(({ id, plugin }) => `"${id}" of "${plugin}"`)]
}
