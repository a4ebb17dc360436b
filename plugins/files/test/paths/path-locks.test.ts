import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { PathLocks } from '../../src/paths/path-locks.ts'
import { isWithin } from '../../src/paths/user-path.ts'

const ada = 'ada'

/** Returns whether a lock is granted at once. */
async function isFree(locks: PathLocks, ...paths: string[]): Promise<boolean> {
  const asking = new AbortController()
  const release = await Promise.race([locks.acquire(ada, paths, asking.signal), turn(null)]).catch(() => null)
  if (release !== null) release()
  else asking.abort()
  return release !== null
}

t.test('a lock covers its path and everything below, and nothing else', async (t) => {
  const locks = new PathLocks()
  const release = await locks.acquire(ada, ['/a/b'])
  for (const path of ['/a/b', '/a/b/c', '/a', '/']) t.notOk(await isFree(locks, path), path)
  for (const path of ['/a/c', '/a/bc', '/b', '/a/b2/c']) t.ok(await isFree(locks, path), path)
  t.notOk(await isFree(locks, '/x', '/a/b'), 'one of several paths is not free')
  release()
  release()
  t.ok(await isFree(locks, '/a/b'))
  t.ok(locks.isFree)
})

t.test('conflicting locks are granted in the order of their requests', async (t) => {
  const locks = new PathLocks()
  const order: string[] = []
  const first = await locks.acquire(ada, ['/a/1'])
  const take = async (name: string, path: string) => {
    const release = await locks.acquire(ada, [path])
    order.push(name)
    await turn()
    release()
  }
  const all = [take('whole', '/a'), take('late', '/a/2'), take('free', '/b')]
  await turn()
  t.strictSame(order, ['free'], 'the late request waits for the earlier lock of the whole tree')
  first()
  await Promise.all(all)
  t.strictSame(order, ['free', 'whole', 'late'])
  t.ok(locks.isFree)
})

t.test('an aborted request for a lock blocks no other request', async (t) => {
  const locks = new PathLocks()
  const release = await locks.acquire(ada, ['/a'])
  const controller = new AbortController()
  const waiting = locks.acquire(ada, ['/a/b'], controller.signal)
  const next = locks.acquire(ada, ['/a/b/c'])
  controller.abort(new Error('aborted'))
  await t.rejects(waiting, { message: 'aborted' })
  await t.rejects(locks.acquire(ada, ['/x'], controller.signal), { message: 'aborted' })
  release()
  ;(await next)()
  t.ok(locks.isFree)
})

t.test('conflicting locks are never held at once', async () => {
  const path = fc.array(fc.constantFrom('a', 'b'), { maxLength: 3 }).map((parts) => `/${parts.join('/')}`)
  const claim = fc.array(path, { minLength: 1, maxLength: 2 })
  await fc.assert(
    fc.asyncProperty(fc.array(claim, { minLength: 2, maxLength: 20 }), async (claims) => {
      const locks = new PathLocks()
      const held = new Set<readonly string[]>()
      const work = async (paths: readonly string[]) => {
        const release = await locks.acquire(ada, paths)
        for (const others of held) {
          const meet = paths.some((a) => others.some((b) => isWithin(a, b) || isWithin(b, a)))
          if (meet) throw new Error(`${paths} and ${others}`)
        }
        held.add(paths)
        await turn()
        held.delete(paths)
        release()
      }
      await Promise.all(claims.map(work))
      if (!locks.isFree) throw new Error('a lock was not released')
    }),
    { numRuns: 200 },
  )
})

t.test('users never wait for each other', async (t) => {
  const locks = new PathLocks()
  const mine = await locks.acquire(ada, ['/'])
  const yours = await locks.acquire('bob', ['/'])
  const controller = new AbortController()
  const waiting = locks.acquire(ada, ['/a'], controller.signal)
  controller.abort()
  await t.rejects(waiting)
  mine()
  yours()
  ;(await locks.acquire(ada, ['/a']))()
  t.ok(locks.isFree)
})
