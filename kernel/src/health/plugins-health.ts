import type { HealthCheck } from '@nodekeep/plugin-sdk'
import type { PluginRecords } from '../plugins/plugin-record.ts'

/** The health check `plugins`: not ok if a plugin that should be up is not, or works only in part. */
export function pluginsHealth(records: Pick<PluginRecords, 'impaired'>): HealthCheck {
  return {
    check() {
      const ids = records.impaired.map(({ id }) => id)
      if (ids.length === 0) return { ok: true, state: 'running' }
      const named = ids.map((id) => `"${id}"`).join(', ')
      const message =
        ids.length === 1
          ? `The plugin ${named} does not work as it should. Read why under "Plugins".`
          : `These plugins do not work as they should: ${named}. Read why under "Plugins".`
      return { ok: false, state: 'impaired', message }
    },
  }
}
