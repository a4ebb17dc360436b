import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { makeReserve } from '@nodekeep/plugin-sdk/data-folder'
import { test } from 'tap'

const pieceBytes = 64 * 1024

test('the reserve is 4 MiB that cannot be compressed, which only the owner of the folder can read', async (t) => {
  const folder = t.testdir()
  await makeReserve(folder)
  const file = join(folder, 'reserve')
  t.equal(statSync(file).mode & 0o777, 0o600)
  const bytes = readFileSync(file)
  t.equal(bytes.length, 4 * 1024 * 1024)
  t.ok(deflateSync(bytes).length > bytes.length, 'it cannot be compressed')
  const pieces = new Set<string>()
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    pieces.add(bytes.toString('base64', at, at + pieceBytes))
  }
  t.equal(pieces.size, bytes.length / pieceBytes, 'no part is like another one')
})

test('making the reserve leaves no memory behind', async (t) => {
  const before = process.memoryUsage().arrayBuffers
  await makeReserve(t.testdir())
  t.ok(process.memoryUsage().arrayBuffers - before < 1024 * 1024)
})
