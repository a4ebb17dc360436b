// In a process of its own: it replaces functions of node:fs.
import fs, { existsSync, readdirSync } from 'node:fs'
import fsPromises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { test } from 'tap'
import { makeBackup, put } from '../fixtures/backup-node.ts'
import { houseFor, read, restore } from './fixtures/house.ts'

type Call = (...args: unknown[]) => unknown

/** Whether a call makes or fills a file or a folder. Names, removals and reads need no room. */
function takesRoom(name: string, [, flags]: readonly unknown[]): boolean {
  return !name.startsWith('open') || (typeof flags === 'string' && flags !== 'r')
}

/** The disk is full from a step on, until the returned function is called. It tells how many steps there were. */
function fullFrom(step: number): () => number {
  let steps = 0
  const undo: (() => void)[] = []
  const replace = (module: object, names: readonly string[]) => {
    const functions = module as Record<string, Call>
    for (const name of names) {
      const original = functions[name] as Call
      const isSync = name.endsWith('Sync')
      undo.push(() => Object.assign(functions, { [name]: original }))
      functions[name] = (...args) => {
        if (!takesRoom(name, args) || steps++ < step) return original(...args)
        // The name of a file still fits.
        if (name === 'writeFileSync') original(args[0], '')
        const error = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
        if (isSync) throw error
        return Promise.reject(error)
      }
    }
  }
  replace(fs, ['mkdirSync', 'writeFileSync', 'openSync'])
  replace(fsPromises, ['mkdir', 'writeFile', 'open'])
  syncBuiltinESMExports()
  return () => {
    for (const one of undo) one()
    syncBuiltinESMExports()
    return steps
  }
}

test('a disk that is full from any step on ends the restore with 507, and nothing of it is left', async (t) => {
  const house = houseFor(t)
  const { owner } = await house.start()
  await put(owner, '/a', 'backup')
  const { filename } = await makeBackup(owner)
  await put(owner, '/a', 'present')
  const left = () => [
    ...readdirSync(join(house.data, 'restore')).filter((name) => name !== 'lock'),
    ...readdirSync(join(house.data, 'files/.nodekeep')).filter((name) => name === 'restore'),
  ]
  await restore(owner, { filename, confirm: false })
  await owner.fetch('/api/backup/restore', { method: 'DELETE' })
  for (let step = 0; ; step++) {
    const again = fullFrom(step)
    const answer = await restore(owner, { filename, confirm: true })
    const steps = again()
    if (steps <= step) {
      t.equal(answer.status, 200)
      t.ok(step > 10, `${step} steps`)
      break
    }
    t.match(await answer.json(), { code: 'INSUFFICIENT_STORAGE', message: /disk/ }, `full from step ${step}`)
    t.strictSame(left(), [], `nothing is left at step ${step}`)
  }
  t.ok(existsSync(join(house.data, 'restore/plan.json')))
  t.equal(await read((await house.start()).owner, '/a'), 'backup')
})
