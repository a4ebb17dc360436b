import t from 'tap'
import { linkSignals } from '../../src/concurrency/linked-signal.ts'

t.test('a linked signal aborts with the first of the others, with its reason', async (t) => {
  const [one, two] = [new AbortController(), new AbortController()]
  using linked = linkSignals(one.signal, two.signal)
  t.notOk(linked.signal.aborted)
  two.abort('two')
  one.abort('one')
  t.ok(linked.signal.aborted)
  t.equal(linked.signal.reason, 'two')
})

t.test('a signal that aborted before aborts it at once', async (t) => {
  using linked = linkSignals(new AbortController().signal, AbortSignal.abort('before'))
  t.equal(linked.signal.reason, 'before')
})

t.test('after its disposal, it aborts no more', async (t) => {
  const other = new AbortController()
  const linked = linkSignals(other.signal)
  linked[Symbol.dispose]()
  other.abort()
  t.notOk(linked.signal.aborted)
})
