import assert from 'node:assert/strict'
import type { StorageBackend } from '../../contracts/storage.ts'
import type { ErrorCode } from '../../errors.ts'
import { assertFails } from '../failures.ts'
import { entries, names, put, text } from './assertions.ts'
import { stream } from './bytes.ts'
import { type BackendCheck, movesFiles, movesFolders } from './subject.ts'

type Row = readonly [what: string, attempt: (backend: StorageBackend) => Promise<unknown>, code: ErrorCode]

const write =
  (path: string, conditions = {}) =>
  (backend: StorageBackend) =>
    backend.write(path, stream('x'), conditions)
const move =
  (source: string, destination: string, overwrite: boolean) =>
  async (backend: StorageBackend): Promise<void> =>
    backend.move?.(source, destination, { overwrite })

/** The table of `StorageBackend`, for the files of `codeChecks`. Each row names what it tests. */
const rows: readonly Row[] = [
  ['stat below a file', (backend) => backend.stat('/file/below'), 'NOT_FOUND'],
  ['a listing of a missing folder', (backend) => entries(backend, '/none'), 'NOT_FOUND'],
  ['a listing below a file', (backend) => entries(backend, '/file/below'), 'NOT_FOUND'],
  ['a listing of a file', (backend) => entries(backend, '/file'), 'CONFLICT'],
  ['a read below a file', (backend) => backend.read('/file/below'), 'NOT_FOUND'],
  ['a read of a folder', (backend) => backend.read('/folder'), 'CONFLICT'],
  ['a read of the root', (backend) => backend.read('/'), 'CONFLICT'],
  ['a range of a missing file', (backend) => backend.read('/none', { start: 9 }), 'NOT_FOUND'],
  ['a range of a folder', (backend) => backend.read('/folder', { start: 9 }), 'CONFLICT'],
  [
    'a range that ends before it starts',
    (backend) => backend.read('/file', { start: 2, end: 1 }),
    'RANGE_NOT_SATISFIABLE',
  ],
  ['a write to the root', write('/'), 'CONFLICT'],
  ['a write to the root with `ifAbsent`', write('/', { ifAbsent: true }), 'CONFLICT'],
  ['a write below a file', write('/file/below/deeper'), 'CONFLICT'],
  ['a write below a file with `ifRevision`', write('/file/below', { ifRevision: 'x' }), 'CONFLICT'],
  ['a write to a folder', write('/folder'), 'CONFLICT'],
  ['a write to a folder with `ifAbsent`', write('/folder', { ifAbsent: true }), 'PRECONDITION_FAILED'],
  ['a write to a folder with `ifRevision`', write('/folder', { ifRevision: 'x' }), 'PRECONDITION_FAILED'],
  ['a write to a missing path with `ifRevision`', write('/none', { ifRevision: 'x' }), 'PRECONDITION_FAILED'],
  ['making a folder at a file', (backend) => backend.makeDirectory('/file'), 'CONFLICT'],
  ['making a folder below a file', (backend) => backend.makeDirectory('/file/below/deeper'), 'CONFLICT'],
  ['a removal of the root', (backend) => backend.remove('/', { ifRevision: 'x' }), 'CONFLICT'],
  ['a removal below a file', (backend) => backend.remove('/file/below'), 'NOT_FOUND'],
  ['a removal of a missing file', (backend) => backend.remove('/none', { ifRevision: 'x' }), 'NOT_FOUND'],
  [
    'a removal of a filled folder with `ifRevision` and `onlyIfEmpty`',
    (backend) => backend.remove('/folder', { ifRevision: 'x', onlyIfEmpty: true }),
    'PRECONDITION_FAILED',
  ],
]

const rowsOfMoves: readonly Row[] = [
  ...[false, true].flatMap((overwrite): Row[] => [
    ['a move of the root', move('/', '/x', overwrite), 'CONFLICT'],
    ['a move onto the root', move('/file', '/', overwrite), 'CONFLICT'],
    ['a move onto itself', move('/file', '/file', overwrite), 'CONFLICT'],
    ['a move of a missing file onto itself', move('/none', '/none', overwrite), 'CONFLICT'],
    ['a move into itself', move('/folder', '/folder/inner/x', overwrite), 'CONFLICT'],
    ['a move onto the folder that contains it', move('/folder/inner', '/folder', overwrite), 'CONFLICT'],
    ['a move of a missing file onto another', move('/none', '/file', overwrite), 'NOT_FOUND'],
    ['a move from below a file', move('/file/below', '/x', overwrite), 'NOT_FOUND'],
    ['a move to below a file', move('/folder', '/file/below', overwrite), 'CONFLICT'],
  ]),
]

/** For backends that move files only. */
const rowsOfFolderMoves: readonly Row[] = [
  ['a move of a folder', move('/folder', '/x', false), 'CONFLICT'],
  ['a move of a folder onto a file', move('/folder', '/file', true), 'CONFLICT'],
  ['a move of a file onto a folder', move('/file', '/folder', true), 'CONFLICT'],
]

export function codeChecks(check: BackendCheck): void {
  check('each situation has its code, also if two apply', async (backend) => {
    await put(backend, '/file', '12345')
    await put(backend, '/folder/inner', 'kept')
    const possible = [
      ...rows,
      ...(movesFiles(backend) ? rowsOfMoves : []),
      ...(movesFiles(backend) && !movesFolders(backend) ? rowsOfFolderMoves : []),
    ]
    for (const [what, attempt, code] of possible) await assertFails(attempt(backend), [code], what)
    assert.deepEqual(await names(backend, '/'), ['file', 'folder'], 'what was refused left nothing')
    assert.equal(await text(backend, '/file'), '12345')
    assert.equal(await text(backend, '/folder/inner'), 'kept')
  })
}
