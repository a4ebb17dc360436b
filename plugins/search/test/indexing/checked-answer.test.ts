import { test } from 'tap'
import { snippetIn } from '../../src/indexing/checked-answer.ts'

test('a snippet has parts of text', async (t) => {
  const snippet = [
    { text: 'a ', isMatch: false },
    { text: 'word', isMatch: true },
  ]
  t.strictSame(snippetIn({ snippet }), snippet)
  t.strictSame(snippetIn({ snippet: snippet.map((part) => ({ ...part, more: 1 })) }), snippet)
  t.equal(snippetIn({ snippet: null }), null)
})

test('an answer of another form has no snippet', async (t) => {
  const part = { text: 'a', isMatch: false }
  const snippets = [
    'text',
    1,
    {},
    { length: 1, 0: part },
    [null],
    ['a'],
    [{ text: 1, isMatch: false }],
    [{ text: 'a' }],
    Array(501).fill(part),
    [{ text: 'a'.repeat(1001), isMatch: false }],
  ]
  for (const snippet of snippets) t.equal(snippetIn({ snippet }), null)
  for (const answer of [null, undefined, 1, 'text', []]) t.equal(snippetIn(answer), null)
})
