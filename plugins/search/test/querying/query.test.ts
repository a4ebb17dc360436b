import { test } from 'tap'
import { parseQuery } from '../../src/querying/query.ts'

test('the last word may go on, but not one in quotation marks', async (t) => {
  t.equal(parseQuery('two words').expression, '"two" AND "words" *')
  t.equal(parseQuery('a "b c" dog').expression, '"a" AND "b c" AND "dog" *')
  t.equal(parseQuery('a "b c"').expression, '"a" AND "b c"')
  t.equal(parseQuery('a "b cat').expression, '"a" AND "b cat" *', 'a phrase that is being typed')
  t.equal(parseQuery('foo-bar.txt').expression, '"foo bar txt" *')
})

test('a short word is no beginning, but in scripts with few characters', async (t) => {
  t.equal(parseQuery('ab').expression, '"ab"')
  t.equal(parseQuery('abc').expression, '"abc" *')
  t.equal(parseQuery('東').expression, '"東" *')
})

test('the first twenty different words are looked for in contents', async (t) => {
  t.equal(
    parseQuery('One two one "one two" "ÓNE two" cat CAT').expression,
    '"One" AND "two" AND "one two" AND "cat"',
  )
  const letters = [...'abcdefghijklmnopqrstuvwxyz']
  const terms = (text: string) => parseQuery(text).expression.split(' AND ')
  t.strictSame(
    terms(letters.join(' ')),
    letters.slice(0, 20).map((letter) => `"${letter}"`),
  )
  t.strictSame(terms(`"${letters.join(' ')}"`), [`"${letters.slice(0, 20).join(' ')}"`])
  t.strictSame(terms(`x "${letters.join(' ')} last`), ['"x"', `"${letters.slice(0, 19).join(' ')}"`])
  t.equal(parseQuery(letters.join(' ')).parts.length, 26, 'in names, all are')
})

test('no syntax of the full-text index is in a query', async (t) => {
  t.equal(parseQuery('a OR bee*').expression, '"a" AND "OR" AND "bee" *')
  t.equal(parseQuery('col : ^a').expression, '"col" AND "a"')
  t.equal(parseQuery('(+) & "').expression, '')
  t.strictSame(parseQuery('(+) &').parts, ['(+)', '&'])
})

test('parts of names have neither case nor accents', async (t) => {
  t.strictSame(parseQuery(' Écoute  "DEUX Mots" ').parts, ['ecoute', 'deux mots'])
  t.strictSame(parseQuery('e\u0301').parts, ['e'])
})

test('a query needs a word', async (t) => {
  for (const query of ['', ' ', '""', '" "']) t.throws(() => parseQuery(query), { code: 'VALIDATION_ERROR' })
})
