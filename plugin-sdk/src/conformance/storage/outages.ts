import assert from 'node:assert/strict'
import type { StorageBackend } from '../../contracts/storage.ts'
import { assertFails } from '../failures.ts'
import { soon } from '../soon.ts'
import { assertAbsent, entries, names, put, text } from './assertions.ts'
import { stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

/** Tests for backends whose storage can fail. A follower of changes takes an entry that seems missing for a removal. */
export function outageChecks(
  check: BackendCheck,
  obstruct: ((backend: StorageBackend) => Promise<() => Promise<void>>) | undefined,
): void {
  check('while the storage fails, nothing seems empty, missing or done', async (backend, skip) => {
    if (obstruct === undefined) return skip('The harness has no "obstruct".')
    await put(backend, '/folder/file', 'x')
    const calls: [name: string, call: () => Promise<unknown>][] = [
      ['probe', () => backend.probe(new AbortController().signal)],
      ['stat', () => backend.stat('/folder/file')],
      ['stat of a missing file', () => backend.stat('/folder/none')],
      ['list', () => entries(backend, '/folder')],
      ['list of the root', () => entries(backend, '/')],
      ['read', () => text(backend, '/folder/file')],
      ['write', () => put(backend, '/folder/new', 'y')],
      ['overwrite', () => put(backend, '/folder/file', 'y')],
      ['makeDirectory', () => backend.makeDirectory('/new')],
      ['remove', () => backend.remove('/folder/file')],
      ['move', () => backend.move('/folder/file', '/moved')],
    ]
    const clear = await obstruct(backend)
    for (const [name, call] of calls) {
      const failing = assertFails(call(), ['SERVICE_UNAVAILABLE'], `${name} while the storage fails`)
      await soon(failing, `${name} does not end while the storage fails`)
    }
    await clear()
    assert.deepEqual(await names(backend, '/'), ['folder'])
    assert.equal(await text(backend, '/folder/file'), 'x')
    await assertAbsent(backend, '/folder/new')
  })
  check('a write whose last step fails is not reported as stored', async (backend, skip) => {
    if (obstruct === undefined) return skip('The harness has no "obstruct".')
    await put(backend, '/folder/file', 'x')
    for (const path of ['/folder/file', '/folder/new']) {
      let clear = async () => {}
      const beforeCommit = async () => {
        clear = await obstruct(backend)
      }
      const failing = backend.write(path, stream('y'), { beforeCommit })
      await soon(
        assertFails(failing, ['SERVICE_UNAVAILABLE'], `a write of ${path} whose last step fails`),
        `a write of ${path} does not end while the storage fails`,
      )
      await clear()
    }
    assert.equal(await text(backend, '/folder/file'), 'x')
    await assertAbsent(backend, '/folder/new')
  })
}
