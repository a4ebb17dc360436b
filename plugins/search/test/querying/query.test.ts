import { test } from 'tap'
import { parseQuery } from '../../src/querying/query.ts'

test('the last word may go on, but not one in quotation marks', async (t) => {
  t.equal(parseQuery('two words').expression, '"two" AND "words" *')
  t.equal(parseQuery('a "b c" d').expression, '"a" AND "b c" AND "d" *')
  t.equal(parseQuery('a "b c"').expression, '"a" AND "b c"')
  t.equal(parseQuery('a "b c').expression, '"a" AND "b c" *', 'a phrase that is being typed')
  t.equal(parseQuery('foo-bar.txt').expression, '"foo bar txt" *')
})

test('no syntax of the full-text index is in a query', async (t) => {
  t.equal(parseQuery('a OR b*').expression, '"a" AND "OR" AND "b" *')
  t.equal(parseQuery('col : ^a').expression, '"col" AND "a" *')
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
