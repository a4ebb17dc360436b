// In a process of its own: the disks are mounts that processes apart have.
import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('a client on a full or read-only disk says so, loses nothing, and goes on once it can', async (t) => {
  const found = await onSmallDisk('72m', new URL('./fixtures/full-disk-client.ts', import.meta.url))
  if (found === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  t.strictSame(found, {
    tooLarge: { trouble: 'The disk is full. Downloads leave 64 MiB of it free.', synced: 2 },
    brimful: 'The disk is full, so the state of the folder cannot be stored.',
    withRoom: { trouble: null, entries: ['.nodekeep-sync', 'a', 'c', 'd'] },
    readOnly: '/locked/file: The disk is read-only.',
    writable: null,
    startOnReadOnly: 'SyncFailure: FOLDER: The disk is read-only.',
  })
})

test('a file that is too large for the disk of the node waits until there is room', async (t) => {
  const found = await onSmallDisk('112m', new URL('./fixtures/full-disk-node.ts', import.meta.url))
  if (found === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  t.match(found, {
    trouble: /^The disk of the node is full: .*storage\.reserve.*Delete files that are no longer needed\.$/,
    isThereWhileFull: false,
    isSame: true,
    after: null,
  })
})
