import { messageOf } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

test('anything that can be thrown has a message', async (t) => {
  t.equal(messageOf(new Error('the reason')), 'the reason')
  t.equal(messageOf(new TypeError()), 'TypeError')
  t.equal(messageOf('a text'), 'a text')
  t.equal(messageOf({ message: 'of another realm' }), 'of another realm')
  const { proxy, revoke } = Proxy.revocable(new Error('hidden'), {})
  revoke()
  t.equal(messageOf(proxy), 'a value was thrown that cannot be described')
})
