import { type RoutesApp, Type } from '@nodekeep/plugin-sdk'
import type { RouteTable } from '../http/route-table.ts'
import { logSecurityEvent } from '../log/security-events.ts'
import { describePlugin, pluginDescription } from '../plugins/describe-plugin.ts'
import type { PluginRecords } from '../plugins/plugin-record.ts'
import type { PluginSwitch } from '../plugins/plugin-switch.ts'

const tags = ['system']
const params = Type.Object({ id: Type.String({ description: 'The id of the plugin in the configuration.' }) })

interface PluginAdministration {
  readonly records: PluginRecords
  readonly pluginSwitch: PluginSwitch
  readonly routeTable: RouteTable
}

/** `GET /api/system/plugins`, and the routes that enable or disable a plugin, for the owner. */
export function pluginAdministrationRoutes(
  app: RoutesApp,
  { records, pluginSwitch, routeTable }: PluginAdministration,
): void {
  app.get(
    '/api/system/plugins',
    {
      config: { access: 'owner' },
      schema: {
        operationId: 'listPlugins',
        summary: 'Every plugin with its state and its declarations',
        tags,
        response: { 200: Type.Object({ plugins: Type.Array(pluginDescription) }) },
      },
    },
    async () => ({ plugins: records.all.map((record) => describePlugin(record, routeTable)) }),
  )
  for (const action of ['enable', 'disable'] as const) {
    app.post(
      `/api/system/plugins/:id/${action}`,
      {
        config: { access: 'owner' },
        schema: {
          operationId: `${action}Plugin`,
          summary: action === 'enable' ? 'Set a plugin up again' : 'Stop a plugin and those that require it',
          tags,
          params,
          response: { 200: Type.Object({ plugin: pluginDescription }) },
        },
      },
      async (request) => {
        const { id } = request.params
        const record = await pluginSwitch[action](id)
        logSecurityEvent(request, 'plugin-switched', `The owner ${action}d a plugin.`, { target: id })
        return { plugin: describePlugin(record, routeTable) }
      },
    )
  }
}
