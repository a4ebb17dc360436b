// In a process of its own: the disk is a mount that a process apart has.

import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('a full disk ends a download, and leaves nothing', async (t) => {
  const found = await onSmallDisk('64m', new URL('./fixtures/full-disk-program.ts', import.meta.url))
  if (found === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  const error = { code: 'INSUFFICIENT_STORAGE', message: /disk/ }
  t.match(found.large, { error, isAsked: false, left: [] }, 'it is known before the download')
  const named = {
    ...error,
    message: /^The archive [\w./-]*1\.2\.0[\w.-]*\.tar\.gz cannot be unpacked: the disk is full/,
  }
  t.match(found.deceptive, { error: named, isAsked: true, left: [] }, 'it turns out while it is unpacked')
  t.match(found.small, { error: null, isAsked: true }, 'afterwards there is room')
})
