import { test } from 'tap'
import { snippetOf } from '../../src/inside/snippet.ts'
import { parseQuery } from '../../src/querying/query.ts'

/** A snippet with its matches in brackets. */
function marked(text: string, query: string): string | null {
  const parts = snippetOf(text, parseQuery(query).wanted)
  return parts?.map(({ text, isMatch }) => (isMatch ? `[${text}]` : text)).join('') ?? null
}

test('the words are marked', async (t) => {
  t.equal(marked('The Café, at last.', 'cafe las'), 'The [Café], at [last].')
  t.equal(marked('one two one', '"one two"'), '[one two] one')
  t.equal(marked('one\n\n  two', '"one two"'), '[one two]', 'spaces are one')
  t.equal(marked('onetwo', '"one"'), null)
  t.equal(marked('nothing', 'other'), null)
  t.equal(marked('', 'word'), null)
  t.equal(marked('x y x', 'x x'), '[x] y [x]')
})

test('a snippet is the part with the most of the words', async (t) => {
  const far = ' filler'.repeat(100)
  t.match(marked(`one${far} two one${far}`, '"one" "two"'), /^… (filler )+\[two\] \[one\]( filler)+ …$/)
  const long = marked(`${'a'.repeat(500)} word ${'🙂'.repeat(500)}`, 'word') ?? ''
  t.match(long, /\[word\]/)
  t.ok(long.length < 300)
  t.ok(long.isWellFormed(), 'no character is cut')
  t.equal(marked(`needle${'s'.repeat(1e6)} a needle`, 'needle'), '… a [needle]', 'a very long word')
  t.equal(marked(`${'東'.repeat(4 * 1024 ** 2)} needle`, 'needle'), '… [needle]', 'the longest word')
  t.equal(marked(`a${'.'.repeat(1e6)}b a b`, '"a b"'), '… [a b]')
})
