import { test } from 'tap'
import { Run, type Work } from '../../src/pool/run.ts'
import { RunHistory } from '../../src/pool/run-history.ts'

const limits = { timeoutMs: 1000, memoryBytes: 65_536, outputBytes: 0 }

function run(caller: string, hash: string, work: Work = { kind: 'call', name: 'f', args: [] }): Run {
  const module = { hash, size: 8, bytes: async () => new Uint8Array(8) }
  return new Run(module, work, limits, caller, { resolve() {}, reject() {} })
}

test('what a call did last is expected of the next one of the same caller and module', (t) => {
  const history = new RunHistory()
  t.equal(history.expects(run('ada', 'a')), 'unknown')
  history.note(run('ada', 'a'), 'short')
  t.equal(history.expects(run('ada', 'a')), 'short')
  t.equal(history.expects(run('ada', 'b')), 'unknown', 'another module')
  t.equal(history.expects(run('bob', 'a')), 'unknown', 'another caller')
  history.note(run('ada', 'a'), 'long')
  t.equal(history.expects(run('ada', 'a')), 'long')
  history.note(run('ada', 'a'), 'short')
  t.equal(history.expects(run('ada', 'a')), 'short')
  t.end()
})

test('a list is made for all callers, and tells nothing of calls', (t) => {
  const history = new RunHistory()
  history.note(run('', 'a', { kind: 'list' }), 'short')
  t.equal(history.expects(run('ada', 'a', { kind: 'list' })), 'short')
  t.equal(history.expects(run('', 'a')), 'unknown')
  t.end()
})

test('what was put back, or whose sandbox died, may take long', (t) => {
  const history = new RunHistory()
  history.note(run('ada', 'a'), 'short')
  t.equal(history.expects(Object.assign(run('ada', 'a'), { putBack: true })), 'long')
  t.equal(history.expects(Object.assign(run('ada', 'a'), { deaths: 1 })), 'long')
  t.end()
})

test('of whoever held others up, nothing is short for ten seconds', (t) => {
  let now = 100
  const history = new RunHistory(() => now)
  for (const hash of ['a', 'b']) history.note(run('eve', hash), 'short')
  history.note(run('ada', 'a'), 'short')
  history.noteHeldUp(run('eve', 'a'))
  t.equal(history.expects(run('eve', 'a')), 'long')
  t.equal(history.expects(run('eve', 'b')), 'unknown', 'another module of hers')
  t.equal(history.expects(run('ada', 'a')), 'short', 'the same module of another caller')
  now += 9_999
  t.equal(history.expects(run('eve', 'b')), 'unknown')
  now += 1
  t.equal(history.expects(run('eve', 'b')), 'short')
  t.end()
})

test('short calls are expected for ten seconds', (t) => {
  let now = 100
  const history = new RunHistory(() => now)
  history.note(run('', 'a', { kind: 'list' }), 'short')
  history.note(run('ada', 'a'), 'long')
  t.equal(history.shortLately, false)
  history.note(run('ada', 'a'), 'short')
  now += 9_999
  t.equal(history.shortLately, true)
  now += 1
  t.equal(history.shortLately, false)
  t.end()
})

test('one caller with many modules makes only their own forgotten', (t) => {
  const history = new RunHistory()
  history.note(run('ada', 'a'), 'long')
  for (let n = 0; n < 5000; n += 1) history.note(run('eve', `${n}`), 'short')
  t.equal(history.expects(run('ada', 'a')), 'long')
  t.equal(history.expects(run('eve', '0')), 'unknown')
  t.equal(history.expects(run('eve', '4999')), 'short')
  t.end()
})

test('whether anything takes long is known when callers are forgotten', (t) => {
  const history = new RunHistory()
  history.note(run('ada', 'a'), 'long')
  t.equal(history.anyLong, true)
  for (let n = 0; n < 2000; n += 1) history.note(run(`${n}`, 'a'), 'short')
  t.equal(history.expects(run('ada', 'a')), 'unknown')
  t.equal(history.anyLong, false)
  t.end()
})
