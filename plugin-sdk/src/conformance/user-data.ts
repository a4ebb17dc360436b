import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { UserDataHolder } from '../contracts/user-data.ts'
import { type ConformanceTest, checksOf } from './conformance-test.ts'
import { failureOf, told } from './failures.ts'
import { soon } from './soon.ts'

export type { ConformanceTest }

/** A plugin with an empty state that is ready for one test, and its entry in `UserData`. */
export interface UserDataSubject {
  /** The entry. After a restart, that of the new start. */
  readonly holder: UserDataHolder
  /** Makes a user with data of every kind that the plugin keeps, and returns the uuid. Called several times for different users. */
  store(): Promise<string>
  /** Returns all data that the plugin has of a user, in a form that can be compared; `[]` if it has none. */
  dataOf(userUuid: string): Promise<readonly unknown[]>
  /** Stops the plugin and starts it again with its state. For plugins whose data outlive a restart. Without it, tests are skipped. */
  restart?(): Promise<void>
  /**
   * Keeps the plugin from removing data, as when a storage cannot be reached. Returns a function that ends this. Without it, a test
   * is skipped.
   */
  obstruct?(): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** The function that the author of a holder passes to the suite. */
export interface UserDataHarness {
  /** Prepares a plugin with a state of its own. Called once for each test. */
  setUp(): Promise<UserDataSubject>
}

const never = new AbortController().signal
const noRestart = 'The harness has no "restart".'

/**
 * Registers the tests that every holder of user data must pass. The suite does not depend on a test runner: it uses the given
 * function to register its tests.
 *
 * @example
 * import { test } from 'node:test'
 * userDataConformance(test, { setUp: async () => ({ holder, store, dataOf, close }) })
 */
export function userDataConformance(test: ConformanceTest, harness: UserDataHarness): void {
  const check = checksOf(
    test,
    () => harness.setUp(),
    (subject) => subject.close(),
  )

  check('all data of a user are removed', async (subject) => {
    const ada = await stored(subject)
    await erase(subject, ada)
    await assertGone(subject, ada)
  })

  check('the data of all other users stay as they are', async (subject) => {
    const [before, ada, after] = [await stored(subject), await stored(subject), await stored(subject)]
    const kept = [await subject.dataOf(before), await subject.dataOf(after)]
    await erase(subject, ada)
    assert.deepEqual([await subject.dataOf(before), await subject.dataOf(after)], kept)
    await erase(subject, after)
    await assertGone(subject, after)
    assert.deepEqual(await subject.dataOf(before), kept[0])
  })

  check('a second removal succeeds, and removes nothing else', async (subject) => {
    const [ada, bob] = [await stored(subject), await stored(subject)]
    const kept = await subject.dataOf(bob)
    await erase(subject, ada)
    await erase(subject, ada, 'a second removal')
    await assertGone(subject, ada)
    assert.deepEqual(await subject.dataOf(bob), kept)
  })

  check('a user without data is removed', async (subject) => {
    await erase(subject, randomUUID(), 'the removal of a user before any data were stored')
    const ada = await stored(subject)
    const kept = await subject.dataOf(ada)
    await erase(subject, randomUUID(), 'the removal of a user without data')
    assert.deepEqual(await subject.dataOf(ada), kept)
  })

  check('removals at the same time do not disturb each other', async (subject) => {
    const [ada, bob, eve] = [await stored(subject), await stored(subject), await stored(subject)]
    const kept = await subject.dataOf(eve)
    await Promise.all([erase(subject, ada), erase(subject, bob)])
    for (const user of [ada, bob]) await assertGone(subject, user)
    assert.deepEqual(await subject.dataOf(eve), kept)
  })

  check(
    'an aborted removal does not claim to be complete, and the next one completes it',
    async (subject) => {
      const ada = await stored(subject)
      const aborted = AbortSignal.abort(new Error('The suite has aborted.'))
      const isDone = await soon(
        settled(subject.holder.erase(ada, aborted)),
        'An aborted removal did not end.',
      )
      if (isDone) await assertGone(subject, ada)
      await erase(subject, ada, 'the removal after an aborted one')
      await assertGone(subject, ada)
    },
  )

  check('a removal that fails rejects, and the next one completes it', async (subject, skip) => {
    if (subject.obstruct === undefined) return skip('The harness has no "obstruct".')
    const ada = await stored(subject)
    const clear = await subject.obstruct()
    await soon(
      failureOf(subject.holder.erase(ada, never), 'a removal that cannot be made'),
      'A removal that cannot be made did not end.',
    )
    await clear()
    await erase(subject, ada, 'the removal after one that has failed')
    await assertGone(subject, ada)
  })

  check('removed data do not come back with a restart', async (subject, skip) => {
    if (subject.restart === undefined) return skip(noRestart)
    const [ada, bob] = [await stored(subject), await stored(subject)]
    const kept = await subject.dataOf(bob)
    await erase(subject, ada)
    await subject.restart()
    await assertGone(subject, ada)
    assert.deepEqual(await subject.dataOf(bob), kept)
    await erase(subject, ada, 'a second removal after a restart')
  })

  check('data from before a restart are removed', async (subject, skip) => {
    if (subject.restart === undefined) return skip(noRestart)
    const [ada, bob] = [await stored(subject), await stored(subject)]
    const kept = await subject.dataOf(bob)
    await subject.restart()
    await erase(subject, ada)
    await assertGone(subject, ada)
    assert.deepEqual(await subject.dataOf(bob), kept)
  })
}

/** Makes a user with data. The tests would show nothing about a plugin without data. */
async function stored(subject: UserDataSubject): Promise<string> {
  const user = await subject.store()
  assert.notDeepEqual(await subject.dataOf(user), [], '"dataOf" of the harness shows what "store" has stored')
  return user
}

async function erase({ holder }: UserDataSubject, user: string, what = 'a removal'): Promise<void> {
  const erased = holder.erase(user, never).catch((error: unknown) => {
    assert.fail(`${what} failed with ${told(error)}`)
  })
  await soon(erased, `${what} did not end`)
}

async function assertGone(subject: UserDataSubject, user: string): Promise<void> {
  assert.deepEqual(await subject.dataOf(user), [], 'a removal that resolves leaves nothing of the user')
}

/** Waits for a call to end, and tells whether it succeeded. */
function settled(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  )
}
