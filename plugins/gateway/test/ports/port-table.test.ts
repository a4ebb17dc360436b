import { join } from 'node:path'
import { type Test, test } from 'tap'
import { parsePortRange } from '../../src/ports/port-range.ts'
import { PortTable } from '../../src/ports/port-table.ts'

const day = 86_400_000
const none = new Set<number>()

function open(t: Test, file: string, first = 20_000, last = 20_002): PortTable {
  const table = new PortTable(file, { first, last })
  t.teardown(() => table.close())
  return table
}

test('a node keeps its port, also after a start', async (t) => {
  const file = join(t.testdir({}), 'ports.sqlite')
  const table = open(t, file)
  t.equal(table.allocate('a', none), 20_000)
  t.equal(table.allocate('b', none), 20_001)
  t.equal(table.allocate('a', none), 20_000)
  const later = open(t, file)
  t.equal(later.allocate('b', none), 20_001)
  t.equal(later.allocate('c', new Set([20_002])), null, 'another program has the last one')
  t.equal(later.allocate('c', none), 20_002)
  t.same(later.all(), [
    { port: 20_000, node: 'a' },
    { port: 20_001, node: 'b' },
    { port: 20_002, node: 'c' },
  ])
})

test('when all ports are taken, only a node that stayed away for 90 days loses its own', async (t) => {
  const table = open(t, join(t.testdir({}), 'ports.sqlite'))
  t.equal(table.allocate('a', none, 1 * day), 20_000)
  t.equal(table.allocate('b', none, 2 * day), 20_001)
  t.equal(table.allocate('c', none, 3 * day), 20_002)
  t.equal(table.allocate('d', none, 91 * day), null)
  t.equal(table.allocate('a', none, 91 * day), 20_000, 'it was seen again')
  t.equal(table.allocate('d', none, 93 * day), 20_001, 'the one that was away for the longest time')
  t.equal(table.has('b'), false)
  t.equal(table.has('d'), true)
})

test('a port that is given back is free', async (t) => {
  const table = open(t, join(t.testdir({}), 'ports.sqlite'))
  table.allocate('a', none)
  table.release('a')
  t.equal(table.has('a'), false)
  t.equal(table.allocate('b', none), 20_000)
})

test('with another range, nodes get other ports', async (t) => {
  const file = join(t.testdir({}), 'ports.sqlite')
  t.equal(open(t, file).allocate('a', none), 20_000)
  const moved = open(t, file, 30_000, 30_001)
  t.same(moved.all(), [])
  t.equal(moved.allocate('a', none), 30_000)
})

test('a range has two ports, the lower one first', async (t) => {
  t.same(parsePortRange('20000-20999'), { first: 20_000, last: 20_999 })
  t.same(parsePortRange('1-1'), { first: 1, last: 1 })
  t.equal(parsePortRange(''), null)
  for (const text of ['0-10', '2-1', '1-65536']) t.throws(() => parsePortRange(text), /"gateway.ports.range"/)
})
