import { test } from 'tap'
import { addCounts, closingLine, countTests, type FileResult, skippedLines } from './count-tests.ts'

/** Counts what the process of one file would write with these lines. */
function countFile(lines: readonly string[], ended = true): FileResult {
  const { parser, results } = countTests('a.test.ts')
  parser.end(['TAP version 14', ...lines, ''].join('\n'))
  const [result] = results(ended, 0)
  if (result === undefined) throw new Error('The file was not counted.')
  return result
}

const passedBlock = ['# Subtest: one', '    ok 1 - is so', '    ok 2 - is so too', '    1..2', 'ok 1 - one']

test('a named block is one test, however many assertions it has', async (t) => {
  const file = countFile([...passedBlock, '1..1'])
  t.match(file, { file: 'a.test.ts', ok: true, ms: Number, passed: 1, failed: 0, skipped: 0 })
})

test('a file without blocks is one test', async (t) => {
  t.match(countFile(['ok 1 - a', 'ok 2 - b', '1..2']), {
    passed: 1,
    failed: 0,
    skipped: 0,
  })
})

test('each test of node:test counts, which writes no block for it', async (t) => {
  const lines = [
    '# Subtest: a',
    'ok 1 - a',
    '# Subtest: b',
    'ok 2 - b # SKIP not here',
    '# Subtest: c',
    'not ok 3 - c',
  ]
  t.match(countFile([...lines, '1..3', '# tests 3']), { ok: false, passed: 1, failed: 1, skipped: 1 })
})

test('of nested blocks, the innermost count', async (t) => {
  const inner = passedBlock.map((line) => `    ${line}`)
  const failing = ['    # Subtest: two', '        not ok 1 - is so', '        1..1', '    not ok 2 - two']
  const lines = ['# Subtest: outer', ...inner, ...failing, '    1..2', 'not ok 1 - outer', '1..1']
  t.match(countFile(lines, false), { ok: false, passed: 1, failed: 1, skipped: 0 })
})

test('skipped and unfinished tests are never passed', async (t) => {
  const inside = [
    '# Subtest: in part',
    '    ok 1 - a',
    '    ok 2 - b # SKIP not here',
    '    1..2',
    'ok 3 - in part',
  ]
  const lines = ['ok 1 - not here # SKIP', 'ok 2 - later # TODO', ...inside, '1..3']
  t.match(countFile(lines), { ok: true, passed: 0, failed: 0, skipped: 3 })
  t.match(countFile(['1..0 # no tests found']), {
    passed: 0,
    skipped: 1,
  })
})

test('a file that fails by itself counts as failed beside its tests', async (t) => {
  t.match(countFile([...passedBlock, '1..1'], false), { passed: 1, failed: 1 })
  t.match(countFile(['1..0 # no tests found'], false), { passed: 0, failed: 1, skipped: 0 })
})

test('the closing line has nothing but passed and failed', async (t) => {
  const sum = { passed: 1, failed: 0, skipped: 0 }
  t.equal(closingLine(sum), '1 passed, 0 failed')
  addCounts(sum, { passed: 2, failed: 1, skipped: 4 })
  t.strictSame(sum, { passed: 3, failed: 1, skipped: 4 })
  t.equal(closingLine(sum), '3 passed, 1 failed')
})

test('skipped tests are listed by name, each with its reason', async (t) => {
  const inside = ['# Subtest: in part', '    ok 1 - b # SKIP not here', '    1..1', 'ok 2 - in part']
  const skipping = countFile(['ok 1 - a # SKIP', ...inside, '1..2'])
  const empty = countFile(['1..0 # no tests found'])
  t.strictSame(skippedLines([skipping, empty]), [
    '3 skipped:',
    '  a.test.ts > a',
    '  a.test.ts > in part > b (not here)',
    '  a.test.ts (no tests found)',
  ])
  t.strictSame(skippedLines([]), [])
})
