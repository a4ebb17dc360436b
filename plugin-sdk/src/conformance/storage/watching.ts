import assert from 'node:assert/strict'
import type { StorageBackend } from '../../contracts/storage.ts'
import { assertFailsWith } from '../failures.ts'
import { soon, until } from '../soon.ts'
import { names, put } from './assertions.ts'
import type { BackendCheck } from './subject.ts'

/** Changes the files of a backend as another program does. Paths are those of the backend, and missing folders are made. */
export interface OtherProgram {
  write(path: string, text: string): Promise<void>
  remove(path: string): Promise<void>
}

const noWatch = 'The backend does not watch its storage.'
const noProgram = 'The harness has no "otherProgram".'

export function watchChecks(
  check: BackendCheck,
  otherProgram: ((backend: StorageBackend) => OtherProgram) | undefined,
  reopen: ((closed: StorageBackend) => Promise<StorageBackend>) | undefined,
): void {
  check('a watch gives hints of what another program changes', async (backend, skip) => {
    if (backend.watch === undefined) return skip(noWatch)
    if (otherProgram === undefined) return skip(noProgram)
    await put(backend, '/user/folder/old', 'old')
    const hints: string[] = []
    await soon(
      backend.watch((path) => hints.push(path), new AbortController().signal),
      'the watch begins',
    )
    const other = otherProgram(backend)
    const hinted = async (path: string, change: () => Promise<void>) => {
      hints.length = 0
      await change()
      await until(() => hints.some((hint) => covers(hint, path)), `no hint covers the change of ${path}`)
    }
    await hinted('/user/new', () => other.write('/user/new', 'new'))
    await hinted('/user/folder/old', () => other.write('/user/folder/old', 'changed'))
    await hinted('/user/folder/old', () => other.remove('/user/folder/old'))
    await hinted('/user/a/b/c', () => other.write('/user/a/b/c', 'deep'))
    await hinted('/user/a', () => other.remove('/user/a'))
    assert.deepEqual(await names(backend, '/user'), ['folder', 'new'])
  })

  check('an aborted watch gives no more hints, and a new one begins', async (backend, skip) => {
    if (backend.watch === undefined) return skip(noWatch)
    const reason = new Error('enough')
    const early = backend.watch(() => {}, AbortSignal.abort(reason))
    await assertFailsWith(early, reason, 'an aborted watch')
    if (otherProgram === undefined) return skip(noProgram)
    const ended = new AbortController()
    const hints: string[] = []
    await backend.watch((path) => hints.push(path), ended.signal)
    ended.abort()
    hints.length = 0
    let isHinted = false
    await backend.watch(() => {
      isHinted = true
    }, new AbortController().signal)
    await otherProgram(backend).write('/user/file', 'text')
    await until(() => isHinted, 'the second watch gives hints')
    assert.deepEqual(hints, [], 'the aborted watch gives none')
  })

  check('a storage has a name, which is the same after a close and a new start', async (backend, skip) => {
    if (backend.storageId === undefined) return skip('The backend does not name its storage.')
    const { signal } = new AbortController()
    const storageId = await backend.storageId(signal)
    assert.ok(typeof storageId === 'string' && storageId.length > 0 && storageId.length <= 200)
    assert.equal(await backend.storageId(signal), storageId)
    await backend.watch?.(() => {}, signal)
    await soon(backend.close(), 'the close ends the watch')
    if (reopen === undefined) return skip('The harness has no "reopen".')
    const reopened = await reopen(backend)
    try {
      assert.equal(await reopened.storageId?.(signal), storageId)
    } finally {
      await reopened.close()
    }
  })
}

function covers(hint: string, path: string): boolean {
  return hint === '/' || hint === path || path.startsWith(`${hint}/`)
}
