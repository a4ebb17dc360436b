import assert from 'node:assert/strict'
import { assertFails } from '../failures.ts'
import { assertAbsent, names, put, text } from './assertions.ts'
import type { BackendCheck, StorageCheck } from './subject.ts'

export function removalChecks(check: StorageCheck): void {
  check('a removed file is gone, and its folder stays', async (storage) => {
    await put(storage, '/folder/file', 'x')
    await storage.remove('/folder/file')
    await assertAbsent(storage, '/folder/file')
    assert.deepEqual(await names(storage, '/folder'), [])
    await assertFails(storage.remove('/folder/file'), ['NOT_FOUND'], 'removing it again')
    await put(storage, '/folder/file', 'again')
    assert.equal(await text(storage, '/folder/file'), 'again')
  })

  check('a folder is removed with its whole content, and nothing else', async (storage) => {
    const neighbors = ['/a', '/folder ', '/folder-2', '/folder.txt', '/folder0', '/folders/file', '/Folder']
    const inside = ['/folder/file', '/folder/a/b/c', '/folder/a/b/d', '/folder/%', '/folder/_']
    for (const path of [...neighbors, ...inside]) await put(storage, path, path)
    await storage.makeDirectory('/folder/empty')
    await storage.remove('/folder')
    for (const path of ['/folder', '/folder/empty', '/folder/a', ...inside]) await assertAbsent(storage, path)
    for (const path of neighbors) assert.equal(await text(storage, path), path)
  })

  check('names that are patterns elsewhere remove only themselves', async (storage) => {
    for (const name of ['%', '_', '*', '?', 'a', 'b']) await put(storage, `/${name}/file`, name)
    for (const name of ['%', '_', '*', '?']) await storage.remove(`/${name}`)
    assert.deepEqual(await names(storage, '/'), ['a', 'b'])
    assert.equal(await text(storage, '/a/file'), 'a')
  })

  check('a missing path cannot be removed', async (storage) => {
    await put(storage, '/file', 'kept')
    await assertFails(storage.remove('/none'), ['NOT_FOUND'], 'a missing file')
    await assertFails(storage.remove('/none/file'), ['NOT_FOUND'], 'a file in a missing folder')
    await assertFails(storage.remove('/file/below'), ['NOT_FOUND', 'CONFLICT'], 'a path below a file')
    assert.equal(await text(storage, '/file'), 'kept')
  })

  check('the root cannot be removed', async (storage) => {
    await put(storage, '/file', 'kept')
    await assertFails(storage.remove('/'), ['CONFLICT', 'VALIDATION_ERROR'], 'the root')
    assert.equal(await text(storage, '/file'), 'kept')
  })
}

/** Tests for backends only: the view of a user has no `onlyIfEmpty`. */
export function emptyRemovalChecks(check: BackendCheck): void {
  const onlyIfEmpty = true

  check('with `onlyIfEmpty`, a folder stays while anything is in it', async (backend) => {
    await put(backend, '/folder/file', 'kept')
    await backend.makeDirectory('/folder/inner')
    await assertFails(backend.remove('/folder', { onlyIfEmpty }), ['CONFLICT'], 'a folder with a file')
    await backend.remove('/folder/file')
    await assertFails(backend.remove('/folder', { onlyIfEmpty }), ['CONFLICT'], 'a folder with a folder')
    await backend.remove('/folder/inner', { onlyIfEmpty })
    await backend.remove('/folder', { onlyIfEmpty })
    await assertAbsent(backend, '/folder')
    await put(backend, '/folder/file', 'again')
    assert.deepEqual(await names(backend, '/'), ['folder'])
  })

  check('with `onlyIfEmpty`, only an existing folder can be removed', async (backend) => {
    await put(backend, '/file', 'kept')
    await put(backend, '/empty', '')
    for (const path of ['/file', '/empty', '/'])
      await assertFails(backend.remove(path, { onlyIfEmpty }), ['CONFLICT'], path)
    await assertFails(backend.remove('/none', { onlyIfEmpty }), ['NOT_FOUND'], 'a missing folder')
    assert.equal(await text(backend, '/file'), 'kept')
    assert.deepEqual(await names(backend, '/'), ['empty', 'file'])
  })
}
