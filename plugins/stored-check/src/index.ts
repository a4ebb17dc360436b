import { definePlugin, FileIndex, TriedBackups, Type } from '@nodekeep/plugin-sdk'
import { checkRoute } from './check-route.ts'
import { StoredCheck } from './stored-check.ts'

/** The plugin `stored-check`: tells whether files of a device are stored here, by their contents. */
export default definePlugin({
  id: 'stored-check',
  description: 'Tells whether files of a device are stored on the node and in a backup, by their contents.',
  config: Type.Object({}),
  requires: { index: FileIndex },
  optional: { backups: TriedBackups },
  setup({ index, backups, log, routes, signal }) {
    const check = new StoredCheck({ index, backups, log, signal })
    routes((app) => checkRoute(app, check))
  },
})
