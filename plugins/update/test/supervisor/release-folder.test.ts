import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { ReleaseFolder } from '../../src/supervisor/release-folder.ts'

test('only the account of the node can change releases, also in a folder that others could write', (t) => {
  const existing = t.testdir()
  chmodSync(existing, 0o777)
  for (const path of [existing, join(existing, 'deep/new')]) {
    new ReleaseFolder(path)
    t.equal(statSync(path).mode & 0o777, 0o700)
  }
  t.end()
})
