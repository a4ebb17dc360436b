import { test } from 'tap'
import { stackOf, withCauses } from '../../src/errors/error-text.ts'

test('the list of causes has each cause once, up to a limit', async (t) => {
  const inner = new TypeError('inner')
  const middle = new Error('middle', { cause: inner })
  const outer = new AggregateError([middle, 'no error', inner], 'outer', { cause: middle })
  inner.cause = outer
  t.strictSame(withCauses(outer), [outer, middle, inner])
  let deep = new Error('0')
  for (let depth = 1; depth <= 100; depth += 1) deep = new Error(String(depth), { cause: deep })
  t.equal(withCauses(deep).length, 17)
  t.strictSame(withCauses('a text'), ['a text'])
})

test('a value that cannot be described has no stack and no causes', async (t) => {
  const { proxy, revoke } = Proxy.revocable(new Error('hidden'), {})
  revoke()
  t.equal(stackOf(proxy), '')
  t.equal(withCauses(proxy).length, 1)
})
