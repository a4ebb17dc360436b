import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { test } from 'tap'
import { memoryFolder } from './run-folder.ts'

test('temporary files are in memory only if it has room, and nobody named another folder', async (t) => {
  const { TMPDIR } = process.env
  t.teardown(() => {
    if (TMPDIR !== undefined) process.env.TMPDIR = TMPDIR
  })
  process.env.TMPDIR = tmpdir()
  t.equal(await memoryFolder(), undefined)
  delete process.env.TMPDIR
  const folder = await memoryFolder()
  if (folder === undefined) return
  const { bavail, bsize } = await statfs(folder)
  t.ok(bavail * bsize >= 8 * 2 ** 30)
})
