import assert from 'node:assert/strict'
import { isNodekeepError } from '../../errors.ts'
import { assertAbsent, names, put, text } from './assertions.ts'
import { snapshotOf } from './snapshots.ts'
import { type BackendCheck, movesFolders } from './subject.ts'

/** More levels than some databases follow references for, and fewer than a path can have. */
const levels = 1100

export function depthChecks(check: BackendCheck): void {
  check('a folder within a thousand others works like any other', async (backend, skip) => {
    const below = '/d'.repeat(levels)
    try {
      await put(backend, `/from${below}/file`, 'deep')
    } catch (thrown) {
      // A backend may refuse paths that it cannot store.
      const refused = isNodekeepError(thrown) && thrown.code === 'VALIDATION_ERROR'
      if (!refused) throw thrown
      return skip(`The backend refuses a path of ${levels} levels.`)
    }
    assert.deepEqual(await names(backend, `/from${below}`), ['file'])
    const folder = movesFolders(backend) ? '/to' : '/from'
    if (movesFolders(backend)) await backend.move('/from', folder)
    assert.equal(await text(backend, `${folder}${below}/file`), 'deep')
    if (backend.prepareSnapshot !== undefined) {
      const snapshot = await snapshotOf(backend)
      assert.equal(await text(snapshot, `${folder}${below}/file`), 'deep')
      await snapshot.release()
    }
    await backend.remove(folder)
    await assertAbsent(backend, folder)
    assert.deepEqual(await names(backend, '/'), [])
  })
}
