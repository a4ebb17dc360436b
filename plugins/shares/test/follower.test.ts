import { test } from 'tap'
import { Follower } from '../src/follower.ts'

test('links are checked again until it is known of all whether their files are there', async (t) => {
  const stopping = new AbortController()
  t.teardown(() => stopping.abort())
  const users: string[] = []
  const isKnown = Promise.withResolvers<void>()
  const check = async (userUuid: string) => {
    users.push(userUuid)
    if (users.length === 3) isKnown.resolve()
    return users.length >= 3
  }
  const follower = new Follower(check, { warn: () => t.fail() }, stopping.signal)
  // Its pauses do not keep a process alive.
  const alive = setInterval(() => {}, 60_000)
  t.teardown(() => clearInterval(alive))
  follower.notice('ada')
  await isKnown.promise
  t.strictSame(users, ['ada', 'ada', 'ada'])
})
