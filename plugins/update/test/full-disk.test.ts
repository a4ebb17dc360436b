// In a process of its own: the disk is a mount that a process apart has.

import { onSmallDisk } from '@nodekeep/kernel/testing'
import { test } from 'tap'

test('a full disk is told, also by an update that has not begun', async (t) => {
  const found = await onSmallDisk('1m', new URL('./fixtures/full-disk-program.ts', import.meta.url))
  if (found === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  const error = { code: 'INSUFFICIENT_STORAGE', message: /^The disk is full/ }
  t.match(found, { check: error, install: error, step: null, again: null })
})
