import assert from 'node:assert/strict'
import { isAbsent, put } from './assertions.ts'
import { type BackendCheck, movesFiles, movesFolders, noMoves } from './subject.ts'
import { checkWatchedMoves } from './watched-moves.ts'

/** Tests for backends with `move`. */
export function atomicMoveChecks(check: BackendCheck): void {
  check('an atomic move keeps the revisions of the moved files', async (backend, skip) => {
    if (!movesFiles(backend)) return skip(noMoves)
    const { revision } = await put(backend, '/folder/file', 'x')
    await backend.move('/folder/file', '/folder/moved')
    assert.equal((await backend.stat('/folder/moved')).revision, revision)
    if (!movesFolders(backend)) return
    await backend.move('/folder', '/other')
    assert.equal((await backend.stat('/other/moved')).revision, revision)
  })

  check('during an atomic move, the file is seen at exactly one of the two paths', async (backend, skip) => {
    if (!movesFiles(backend)) return skip(noMoves)
    await put(backend, '/step-0', 'x')
    await checkWatchedMoves(backend, 'file')
  })

  check('a file that an atomic move replaces exists at every moment', async (backend, skip) => {
    if (!movesFiles(backend)) return skip(noMoves)
    await put(backend, '/file', 'first')
    for (let round = 0; round < 30; round += 1) {
      await put(backend, '/next', `${round}`)
      let running = true
      const moving = backend.move('/next', '/file', { overwrite: true }).finally(() => {
        running = false
      })
      do assert.ok(!(await isAbsent(backend, '/file')), 'a reader saw no file')
      while (running)
      await moving
    }
  })
}
