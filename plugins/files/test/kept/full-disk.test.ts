import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('on a full disk, deletions, restores and the purge go on, overwrites are refused, and nothing is lost', async (t) => {
  const report = await onSmallDisk('64m', new URL('../fixtures/kept-on-full-disk.ts', import.meta.url))
  if (report === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  const { byOthers, ...others } = report as { readonly byOthers: Readonly<Record<string, number>> }
  t.strictSame(others, {
    upload: 507,
    byUploads: {
      overwrite: 507,
      'delete a file': 200,
      undo: 200,
      'delete a folder': 200,
      restore: 200,
      'restore a version': 200,
      'delete for good': 200,
      'delete an item': 200,
      'delete a version': 200,
    },
    lost: [],
  })
  for (const [name, status] of Object.entries(byOthers))
    t.ok([200, 507].includes(status), `${name} while other programs have filled the rest: ${status}`)
  const purges = ['delete an item', 'delete a version'].map((name) => byOthers[name])
  t.strictSame(
    purges,
    [200, 200],
    'the trash and versions can be deleted on a disk that is full to the last byte',
  )
})
