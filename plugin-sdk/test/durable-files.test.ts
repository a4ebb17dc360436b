import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import {
  draftOf,
  makeFolder,
  makeFolderSync,
  readJson,
  readJsonSync,
  replaceFile,
  syncFolderSync,
  writeJson,
  writeJsonSync,
} from '@nodekeep/plugin-sdk/durable-files'
import { test } from 'tap'

test('a file is replaced as a whole, and is for one account alone', async (t) => {
  for (const write of [writeJson, writeJsonSync]) {
    const file = join(t.testdir(), 'new', 'a.json')
    await write(file, { a: 'ä' })
    await write(file, { b: [1] })
    t.strictSame([readJsonSync(file), await readJson(file)], [{ b: [1] }, { b: [1] }])
    t.equal(statSync(file).mode & 0o777, 0o600)
    t.equal(statSync(join(file, '..')).mode & 0o777, 0o700)
    t.strictSame(readdirSync(join(file, '..')), ['a.json'])
  }
})

test('a failure leaves the former content and no draft', async (t) => {
  const folder = t.testdir({ file: 'former', taken: {} })
  await t.rejects(replaceFile(join(folder, 'taken'), 'new'), { code: 'EISDIR' })
  t.throws(() => writeJsonSync(join(folder, 'taken'), {}), { code: 'EISDIR' })
  await t.rejects(writeJson(join(folder, 'file'), 1n))
  t.equal(readFileSync(join(folder, 'file'), 'utf8'), 'former')
  t.strictSame(readdirSync(folder).sort(), ['file', 'taken'])
})

test('a draft that a killed process has left does not matter', async (t) => {
  for (const write of [writeJson, writeJsonSync]) {
    const file = join(t.testdir({ other: 'of somebody' }), 'a.json')
    const other = join(file, '../other')
    writeFileSync(draftOf(file), '{"longer": "than the new content"}', { mode: 0o644 })
    await write(file, {})
    t.strictSame(await readJson(file), {})
    t.equal(statSync(file).mode & 0o777, 0o600, 'its mode')
    symlinkSync(other, draftOf(file))
    await write(file, { a: 1 })
    t.ok(lstatSync(file).isFile(), 'a link is not followed')
    t.strictSame([await readJson(file), readFileSync(other, 'utf8')], [{ a: 1 }, 'of somebody'])
  }
})

test('a missing file is null, and a damaged one is told from other failures', async (t) => {
  const folder = t.testdir({ damaged: '{"a":', folder: {} })
  const damaged = { name: 'SyntaxError', message: `${folder}/damaged is damaged: it is not JSON` }
  t.strictSame([await readJson(join(folder, 'none')), readJsonSync(join(folder, 'none'))], [null, null])
  await t.rejects(readJson(join(folder, 'damaged')), damaged)
  t.throws(() => readJsonSync(join(folder, 'damaged')), damaged)
  await t.rejects(readJson(join(folder, 'folder')), { code: 'EISDIR' })
  t.throws(() => readJsonSync(join(folder, 'folder')), { code: 'EISDIR' })
})

test('a folder is made with those above it, and one that exists stays as it is', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'open'), { mode: 0o755 })
  t.equal(await makeFolder(join(folder, 'open', 'a', 'b')), join(folder, 'open', 'a'))
  t.equal(await makeFolder(join(folder, 'open', 'a')), null)
  makeFolderSync(join(folder, 'open', 'c', 'd'))
  const modes = ['open', 'open/a', 'open/a/b', 'open/c', 'open/c/d'].map(
    (name) => statSync(join(folder, name)).mode & 0o777,
  )
  t.strictSame(modes, [0o755, 0o700, 0o700, 0o700, 0o700])
})

test('only a folder is synced as one', {
  skip: process.platform === 'win32' && 'no folder is synced',
}, async (t) => {
  const folder = t.testdir({ file: '' })
  t.doesNotThrow(() => syncFolderSync(folder))
  t.throws(() => syncFolderSync(join(folder, 'file')), { code: 'ENOTDIR' })
})
