import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { ReleaseFolder, readManifest } from '../../src/supervisor/release-folder.ts'

test('only the account of the node can change releases, also in a folder that others could write', (t) => {
  const existing = t.testdir()
  chmodSync(existing, 0o777)
  for (const path of [existing, join(existing, 'deep/new')]) {
    new ReleaseFolder(path)
    t.equal(statSync(path).mode & 0o777, 0o700)
  }
  t.end()
})

test('the description of a former release is read', (t) => {
  const folder = fileURLToPath(new URL('./fixtures/recorded', import.meta.url))
  const { version, schema } = readManifest(folder)
  t.equal(version, '0.1.0')
  t.match(schema[0], { id: '1-plugin-state', change: 'expand' })
  t.end()
})
