import { join } from 'node:path'
import { type Test, test } from 'tap'
import { parsePortRange } from '../../src/ports/port-range.ts'
import { PortTable } from '../../src/ports/port-table.ts'

const day = 86_400_000
const none = new Set<number>()
const nobody = () => []

function open(t: Test, file: string, first = 20_000, last = 20_002): PortTable {
  const table = new PortTable(file, { first, last })
  t.teardown(() => table.close())
  return table
}

test('a node keeps its port, also after a start', async (t) => {
  const file = join(t.testdir({}), 'ports.sqlite')
  const table = open(t, file)
  const present = () => ['a', 'b']
  t.equal(table.allocate('a', none, present), 20_000)
  t.equal(table.allocate('b', none, present), 20_001)
  t.equal(table.allocate('a', none, present), 20_000)
  const later = open(t, file)
  t.equal(later.allocate('b', none, present), 20_001)
  t.equal(later.allocate('c', new Set([20_002]), present), null, 'another program has the last one')
  t.equal(later.allocate('c', none, present), 20_002)
  t.same(later.all(), [
    { port: 20_000, node: 'a' },
    { port: 20_001, node: 'b' },
    { port: 20_002, node: 'c' },
  ])
})

test('when all ports are taken, the node that was away longest loses its own, after 90 days', async (t) => {
  const table = open(t, join(t.testdir({}), 'ports.sqlite'))
  for (const node of ['a', 'b', 'c']) table.allocate(node, none, nobody, 0)
  table.note(['a'], 200 * day)
  table.note(['b'], 202 * day)
  table.note(['c'], 201 * day)
  t.equal(table.allocate('d', none, nobody, 290 * day), null)
  t.equal(table.allocate('a', none, nobody, 290 * day), 20_000, 'it was seen again')
  t.equal(table.allocate('d', none, nobody, 292 * day), 20_002)
  t.equal(table.has('c'), false)
  t.equal(table.has('d'), true)
})

test('a node that is connected keeps its port, however long ago it came', async (t) => {
  const table = open(t, join(t.testdir({}), 'ports.sqlite'))
  const present = ['a', 'b', 'c']
  for (const node of present) table.allocate(node, none, nobody, 0)
  t.equal(
    table.allocate('d', none, () => present, 400 * day),
    null,
  )
  t.equal(table.allocate('d', none, nobody, 440 * day), null, 'they left just now')
})

test('a node that came for a short time keeps its port for no longer when others need it', async (t) => {
  const table = open(t, join(t.testdir({}), 'ports.sqlite'))
  for (const node of ['a', 'b', 'c']) table.allocate(node, none, nobody, 0)
  table.note(['a', 'c'], 2 * day)
  t.equal(table.allocate('d', none, nobody, 3 * day), 20_001)
  t.equal(
    table.allocate('e', none, () => ['d'], 3 * day),
    null,
    'the others were there for longer than they are away',
  )
})

test('a port that is given back is free', async (t) => {
  const table = open(t, join(t.testdir({}), 'ports.sqlite'))
  table.allocate('a', none, nobody)
  table.release('a')
  t.equal(table.has('a'), false)
  t.equal(table.allocate('b', none, nobody), 20_000)
})

test('with another range, nodes get other ports', async (t) => {
  const file = join(t.testdir({}), 'ports.sqlite')
  t.equal(open(t, file).allocate('a', none, nobody), 20_000)
  const moved = open(t, file, 30_000, 30_001)
  t.same(moved.all(), [])
  t.equal(moved.allocate('a', none, nobody), 30_000)
})

test('a range has two ports, the lower one first', async (t) => {
  t.same(parsePortRange('20000-20999'), { first: 20_000, last: 20_999 })
  t.same(parsePortRange('1-1'), { first: 1, last: 1 })
  t.equal(parsePortRange(''), null)
  for (const text of ['0-10', '2-1', '1-65536']) t.throws(() => parsePortRange(text), /"gateway.ports.range"/)
})
