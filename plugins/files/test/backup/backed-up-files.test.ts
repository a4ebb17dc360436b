import { randomUUID } from 'node:crypto'
import type { BackupOmission, StorageEntry, StorageSnapshot } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { backedUpFiles, mountSnapshot } from '../../src/backup/backed-up-files.ts'
import { Mounts } from '../../src/mounts/mounts.ts'
import { root } from '../../src/paths/user-path.ts'
import { temporaryJournal } from '../journal/fixtures/temporary-journal.ts'

/** More than a call of a function takes as arguments. */
const many = 200_000

t.test('a folder of very many folders, and very many omissions, are in a backup', async (t) => {
  const now = new Date()
  const folderNamed = (name: string): StorageEntry => {
    return { name, type: 'directory', size: 0, modified: now, created: now, revision: 'folder' }
  }
  const user = randomUUID()
  const snapshot: StorageSnapshot = {
    omitted: Array.from({ length: many }, (_, index) => ({ what: `/${user}/link-${index}`, why: 'A link.' })),
    changed: [],
    async *list(path) {
      if (path === '/') yield folderNamed(user)
      if (path === `/${user}`) for (let index = 0; index < many; index += 1) yield folderNamed(`${index}`)
    },
    read: () => Promise.reject(new Error('There are no files.')),
    release: async () => {},
  }
  const journal = await temporaryJournal(t)
  const moment = journal.openSnapshot()
  t.teardown(() => moment.close())
  moment.fix()
  const backends = { get: () => undefined, has: () => false, names: () => [] }
  const mounts = new Mounts({ '/': 'disk' }, backends as never, { info() {}, warn() {} })
  const omitted: BackupOmission[] = []
  const include = { trash: false, versions: false }
  const mount = await mountSnapshot({ name: 'disk', point: root }, snapshot, include, omitted)
  t.equal(omitted.length, many)
  let folders = 0
  for await (const _entry of backedUpFiles(mount, { journal: moment, at: now, mounts, include }, new Set()))
    folders += 1
  t.equal(folders, many + 1)
})
