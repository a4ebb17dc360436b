import { definePlugin, FileIndex, TriedBackups, Type } from '@nodekeep/plugin-sdk'
import { checkRoute } from './check-route.ts'
import { StoredCheck } from './stored-check.ts'

/** The plugin `stored-check`: tells whether files of a device are stored here, by their contents. */
export default definePlugin({
  id: 'stored-check',
  description: 'Tells whether a memory card or a folder is all here, and in a backup.',
  config: Type.Object({}),
  requires: { index: FileIndex },
  optional: { backups: TriedBackups },
  setup({ index, backups, log, routes, signal }) {
    const check = new StoredCheck({ index, backups, log, signal })
    routes((app) => checkRoute(app, check))
  },
})
