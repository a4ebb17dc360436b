import { type Static, Type } from '@nodekeep/plugin-sdk'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import type { RouteTable } from '../http/route-table.ts'
import type { PluginRecord } from './plugin-record.ts'

const textOrNull = Type.Union([Type.String(), Type.Null()])

/** The schema of a plugin at `GET /api/system/plugins` and in `nodekeep plugins list --json`. */
export const pluginDescription = Type.Object({
  id: Type.String(),
  description: Type.String(),
  package: textOrNull,
  version: textOrNull,
  sdk: textOrNull,
  state: Type.String({ description: 'disabled, blocked, active, degraded, failed or stopped' }),
  phase: textOrNull,
  reason: textOrNull,
  required: Type.Boolean(),
  configuredAt: Type.String({ description: 'The file and line, or variable, that names the plugin.' }),
  requires: Type.Array(Type.String()),
  optional: Type.Array(Type.String()),
  provides: Type.Array(Type.String()),
  contributes: Type.Array(Type.String()),
  routes: Type.Array(
    Type.Object({
      method: Type.String(),
      path: Type.String(),
      access: Type.String({ description: 'user, owner or public' }),
      publicReason: textOrNull,
      scope: textOrNull,
    }),
  ),
})

/** A plugin as the owner sees it: its state and its declarations. */
export type PluginDescription = Static<typeof pluginDescription>

export function describePlugin(record: PluginRecord, table: RouteTable): PluginDescription {
  const { manifest, plugin, entry } = record
  const keys = (tokens: Readonly<Record<string, { id: string; major: number }>> = {}) =>
    Object.values(tokens).map(tokenKey)
  return {
    id: record.id,
    // A plugin that is off is not imported. Then its package describes it.
    description: plugin?.description ?? manifest?.description ?? '',
    package: manifest?.packageName ?? null,
    version: manifest?.version ?? null,
    sdk: manifest?.sdk ?? null,
    state: record.state,
    phase: record.phase,
    reason: record.reason,
    required: entry.required,
    configuredAt: entry.where,
    requires: keys(plugin?.requires),
    optional: keys(plugin?.optional),
    provides: keys(plugin?.provides),
    contributes: keys(plugin?.contributes),
    routes: (table.mounts.get(record.id)?.routes ?? []).map(
      ({ method, path, access, publicReason, scope }) => ({ method, path, access, publicReason, scope }),
    ),
  }
}
