import assert from 'node:assert/strict'
import { isAbsent, names, put } from './assertions.ts'
import type { BackendCheck } from './subject.ts'

/** For backends that say `supports.atomicMove`. */
export function atomicMoveChecks(check: BackendCheck): void {
  check('an atomic move keeps the revision of what it moves', async (backend) => {
    if (!backend.supports.atomicMove) return
    const { revision } = await put(backend, '/folder/file', 'x')
    await backend.move('/folder/file', '/folder/moved')
    assert.equal((await backend.stat('/folder/moved')).revision, revision)
    await backend.move('/folder', '/other')
    assert.equal((await backend.stat('/other/moved')).revision, revision)
  })

  check('nobody sees both places of an atomic move, or none', async (backend) => {
    if (!backend.supports.atomicMove) return
    for (let index = 0; index < 20; index += 1) await put(backend, `/step-0/${index}`, 'x')
    for (let step = 0; step < 30; step += 1) {
      const [source, destination] = [`/step-${step}`, `/step-${step + 1}`]
      const moving = backend.move(source, destination)
      let moved = false
      while (!moved) {
        // What is not at the first place, looked at first, must have arrived; what has arrived must have left.
        const [left, lost] = [await isAbsent(backend, source), await isAbsent(backend, destination)]
        assert.ok(!(left && lost), 'somebody saw neither place')
        moved = !(await isAbsent(backend, destination))
        if (!moved) continue
        assert.ok(await isAbsent(backend, source), 'somebody saw both places')
        assert.equal((await names(backend, destination)).length, 20, 'a moved folder is whole')
      }
      await moving
    }
  })

  check('a file that an atomic move replaces is there at every moment', async (backend) => {
    if (!backend.supports.atomicMove) return
    await put(backend, '/file', 'first')
    for (let round = 0; round < 30; round += 1) {
      await put(backend, '/next', `${round}`)
      let running = true
      const moving = backend.move('/next', '/file', { overwrite: true }).finally(() => {
        running = false
      })
      do assert.ok(!(await isAbsent(backend, '/file')), 'somebody saw no file')
      while (running)
      await moving
    }
  })
}
