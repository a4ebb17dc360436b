import t from 'tap'
import type { Remote, RemoteEntry } from '../../src/client/ports.ts'
import { listRemote } from '../../src/client/scan.ts'

t.test('a node that lists files without end is given up', async (t) => {
  const folder: RemoteEntry = { type: 'directory' }
  const entries = new Map(Array.from({ length: 1000 }, (_, number) => [String(number), folder] as const))
  let lists = 0
  const list = async () => {
    lists += 1
    return entries
  }
  const listing = listRemote({ list } as Partial<Remote> as Remote)
  await t.rejects(listing, { kind: 'stop', message: /more than 1,000,000 files and folders/ })
  t.equal(lists, 1001)
  const long = async () => new Map([['a'.repeat(255), folder]])
  t.equal((await listRemote({ list: long } as Partial<Remote> as Remote)).size, 16, 'paths have an end')
})
