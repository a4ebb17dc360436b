import assert from 'node:assert/strict'
import type { StorageBackend } from '../../contracts/storage.ts'
import { isAbsent, names, put } from './assertions.ts'
import { type BackendCheck, movesFolders, noFolderMoves } from './subject.ts'
import { checkWatchedMoves } from './watched-moves.ts'

const fileNames = Array.from({ length: 10 }, (_, index) => `${index}`)

/** Tests for backends with `supports.atomicFolders`. */
export function atomicFolderChecks(check: BackendCheck): void {
  check(
    'a moved folder is seen at exactly one of the two paths, with all its files',
    async (backend, skip) => {
      if (!movesFolders(backend)) return skip(noFolderMoves)
      await fill(backend, '/step-0')
      await checkWatchedMoves(backend, 'folder', async (path) => {
        assert.equal(
          (await names(backend, path)).length,
          fileNames.length,
          'a moved folder has all its files',
        )
      })
    },
  )

  check('a removed folder is gone with all its files at once', async (backend, skip) => {
    if (!backend.supports.atomicFolders) return skip('The backend does not remove folders in one step.')
    for (let round = 0; round < 6; round += 1) {
      await fill(backend, '/folder')
      const removing = backend.remove('/folder')
      while (!(await isAbsent(backend, '/folder')) && (await allAreThere(backend, '/folder')));
      for (const name of fileNames)
        assert.ok(await isAbsent(backend, `/folder/${name}`), 'a reader saw a part')
      await removing
    }
  })

  check('a folder that replaces another one is seen whole', async (backend, skip) => {
    if (!movesFolders(backend)) return skip(noFolderMoves)
    for (let round = 0; round < 6; round += 1) {
      await fill(backend, '/folder', 'old-')
      await fill(backend, '/next', 'new-')
      const moving = backend.move('/next', '/folder', { overwrite: true })
      // The first file that leaves, or the first that arrives, tells that all of them did.
      while ((await allAreThere(backend, '/folder', 'old-')) && (await isAbsent(backend, '/folder/new-0')));
      for (const name of fileNames)
        assert.ok(
          await isAbsent(backend, `/folder/old-${name}`),
          'a reader saw a part of the replaced folder',
        )
      await moving
      assert.ok(await allAreThere(backend, '/folder', 'new-'), 'the folder that came is whole')
      await backend.remove('/folder')
    }
  })
}

async function fill(backend: StorageBackend, folder: string, prefix = ''): Promise<void> {
  await Promise.all(fileNames.map((name) => put(backend, `${folder}/${prefix}${name}`, 'x')))
}

async function allAreThere(backend: StorageBackend, folder: string, prefix = ''): Promise<boolean> {
  for (const name of fileNames) if (await isAbsent(backend, `${folder}/${prefix}${name}`)) return false
  return true
}
