import assert from 'node:assert/strict'
import { assertFails } from '../failures.ts'
import { assertAbsent, assertContent, names, put, text } from './assertions.ts'
import { pattern, stream } from './bytes.ts'
import { movesFiles, movesFolders, noFolderMoves, noMoves, type StorageCheck } from './subject.ts'

export function movingChecks(check: StorageCheck): void {
  check('a moved file is at its new path only', async (storage, skip) => {
    if (!movesFiles(storage)) return skip(noMoves)
    const bytes = pattern(3_000_000)
    await storage.write('/from/file', stream(bytes))
    await storage.move('/from/file', '/to/renamed')
    await assertAbsent(storage, '/from/file')
    await assertContent(storage, '/to/renamed', bytes)
    assert.equal((await storage.stat('/to/renamed')).name, 'renamed')
    assert.deepEqual(await names(storage, '/from'), [])
  })

  check('a folder moves with its whole content, and nothing else', async (storage, skip) => {
    if (!movesFolders(storage)) return skip(noFolderMoves)
    for (const path of ['/from/a/b', '/from/c', '/from2/c', '/from.txt', '/from/%/_'])
      await put(storage, path, path)
    await storage.makeDirectory('/from/empty')
    await storage.move('/from', '/to/inner')
    await assertAbsent(storage, '/from')
    assert.deepEqual(await names(storage, '/to/inner'), ['%', 'a', 'c', 'empty'])
    assert.equal(await text(storage, '/to/inner/a/b'), '/from/a/b')
    assert.equal(await text(storage, '/to/inner/%/_'), '/from/%/_')
    assert.deepEqual(await names(storage, '/'), ['from.txt', 'from2', 'to'])
  })

  check('a folder can move to a name that begins with its own name', async (storage, skip) => {
    if (!movesFolders(storage)) return skip(noFolderMoves)
    await put(storage, '/a/file', 'x')
    await storage.move('/a', '/ab')
    await storage.move('/ab', '/a')
    assert.equal(await text(storage, '/a/file'), 'x')
    assert.deepEqual(await names(storage, '/'), ['a'])
  })

  check('a move replaces nothing without `overwrite`', async (storage, skip) => {
    if (!movesFiles(storage)) return skip(noMoves)
    await put(storage, '/file', 'moved')
    await put(storage, '/other', 'kept')
    await put(storage, '/folder/inner', 'kept')
    for (const [source, destination] of [
      ['/file', '/other'],
      ['/file', '/folder'],
      ['/folder', '/file'],
    ] as const) {
      await assertFails(storage.move(source, destination), ['CONFLICT'], `moving ${source} to ${destination}`)
    }
    assert.equal(await text(storage, '/other'), 'kept')
    assert.equal(await text(storage, '/file'), 'moved')
    assert.equal(await text(storage, '/folder/inner'), 'kept')
  })

  check('a move with `overwrite` replaces a file', async (storage, skip) => {
    if (!movesFiles(storage)) return skip(noMoves)
    await put(storage, '/file', 'from a file')
    await put(storage, '/other', 'replaced')
    await storage.move('/file', '/other', { overwrite: true })
    assert.equal(await text(storage, '/other'), 'from a file')
    assert.deepEqual(await names(storage, '/'), ['other'])
  })

  check('a move with `overwrite` replaces files and folders whole', async (storage, skip) => {
    if (!movesFolders(storage)) return skip(noFolderMoves)
    const overwrite = { overwrite: true }
    await put(storage, '/other', 'from a file')
    await put(storage, '/one/a', 'from a folder')
    await put(storage, '/two/b', 'replaced')
    await storage.move('/one', '/two', overwrite)
    assert.deepEqual(await names(storage, '/two'), ['a'])

    await storage.move('/other', '/two', overwrite)
    assert.equal(await text(storage, '/two'), 'from a file')

    await put(storage, '/three/a', 'from a folder')
    await storage.move('/three', '/two', overwrite)
    assert.equal(await text(storage, '/two/a'), 'from a folder')
    assert.deepEqual(await names(storage, '/'), ['two'])
  })

  check('a missing path, the root, and a folder into itself cannot be moved', async (storage, skip) => {
    if (!movesFiles(storage)) return skip(noMoves)
    await put(storage, '/folder/inner/file', 'kept')
    await put(storage, '/file', 'kept')
    await assertFails(storage.move('/none', '/x'), ['NOT_FOUND'], 'a missing file')
    await assertFails(storage.move('/none/x', '/x'), ['NOT_FOUND'], 'a file in a missing folder')
    await assertFails(storage.move('/folder', '/file/x'), ['CONFLICT'], 'a move below a file')
    const refused = [
      ['/folder', '/folder'],
      ['/folder', '/folder/inner/x'],
      ['/folder/inner', '/folder'],
      ['/file', '/file'],
      ['/', '/x'],
      ['/folder', '/'],
    ] as const
    for (const [source, destination] of refused) {
      for (const overwrite of [false, true]) {
        const attempt = storage.move(source, destination, { overwrite })
        await assertFails(attempt, ['CONFLICT', 'VALIDATION_ERROR'], `moving ${source} to ${destination}`)
      }
    }
    assert.equal(await text(storage, '/folder/inner/file'), 'kept')
    assert.equal(await text(storage, '/file'), 'kept')
    assert.deepEqual(await names(storage, '/'), ['file', 'folder'])
  })
}
