// In a process of its own: it measures its memory.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { GatheredText } from '../../src/index.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

t.test('The text has all pieces in order at every time', async (t) => {
  const text = new GatheredText()
  t.equal(text.toString(), '')
  let expected = ''
  for (let n = 0; n < 5000; n += 1) {
    text.add(`${n} 😀`)
    expected += `${n} 😀`
    if (n % 997 === 0) t.equal(text.toString(), expected)
  }
  t.equal(text.toString(), expected)
})

t.test('Single letters take about as much memory as the whole text', async (t) => {
  const letters = 4_000_000
  const text = new GatheredText()
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < letters; n += 1) text.add('x')
  collectGarbage()
  const heapGrowth = process.memoryUsage().heapUsed - before
  t.ok(heapGrowth < 2 * letters, `Each letter takes ${heapGrowth / letters} bytes.`)
  t.equal(text.toString(), 'x'.repeat(letters))
})
