import fc from 'fast-check'
import { test } from 'tap'
import { merge, mergeAll, plainValue, treeOf, visit } from '../../src/configuration/tree.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

const tree = (value: unknown) => treeOf(value, () => ({ kind: 'inline' }))
const merged = (...layers: unknown[]) => plainValue(mergeAll(layers.map(tree)))

const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'prototype', 'toString')
const { layer } = fc.letrec<{ layer: Json; value: Json }>((tie) => ({
  layer: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries)),
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.integer(),
    fc.array(fc.integer()),
    fc.constant(null),
    tie('layer'),
  ),
}))

/** Layers whose path alone decides whether a value is an object, so that no layer replaces an object by another type. */
const { shaped } = fc.letrec<{ shaped: Json; deeper: Json }>((tie) => ({
  shaped: fc.record(
    { a: fc.integer(), b: fc.array(fc.integer()), c: tie('deeper') },
    { requiredKeys: [] },
  ) as fc.Arbitrary<Json>,
  deeper: fc.oneof({ maxDepth: 3 }, fc.constant({}), tie('shaped')),
}))

/**
 * Merges layers: the last layer with a value wins, and objects merge key by key unless a layer between replaces them. A key
 * whose last value is null is absent.
 */
function model(layers: readonly Json[]): Json {
  const from = layers.findLastIndex((value) => !isObject(value))
  if (from === layers.length - 1) return layers[from] as Json
  const objects = layers.slice(from + 1) as { [key: string]: Json }[]
  const keys = new Set(objects.flatMap((one) => Object.keys(one)))
  return Object.fromEntries(
    [...keys]
      .map((name): [string, Json] => [
        name,
        model(objects.filter((one) => Object.hasOwn(one, name)).map((one) => own(one, name))),
      ])
      .filter(([, value]) => value !== null),
  )
}

function own(object: object, name: string): Json {
  return Object.getOwnPropertyDescriptor(object, name)?.value
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

test('layers merge as in the model', async () => {
  fc.assert(
    fc.property(fc.array(layer, { minLength: 1, maxLength: 5 }), (layers) => {
      return JSON.stringify(sorted(merged(...layers))) === JSON.stringify(sorted(model(layers)))
    }),
  )
})

test('merging is associative if no layer replaces an object by another type', async () => {
  fc.assert(
    fc.property(shaped, shaped, shaped, (a, b, c) => {
      const left = merge(merge(tree(a), tree(b)), tree(c))
      const right = merge(tree(a), merge(tree(b), tree(c)))
      return JSON.stringify(sorted(plainValue(left))) === JSON.stringify(sorted(plainValue(right)))
    }),
  )
})

test('an empty layer changes nothing, and neither does the same layer again', async () => {
  fc.assert(
    fc.property(layer, (one) => {
      const plain = JSON.stringify(merged(one))
      return [merged(one, {}), merged({}, one), merged(one, one)].every(
        (same) => JSON.stringify(same) === plain,
      )
    }),
  )
})

test('merging changes neither a prototype nor its input', async () => {
  const before = Object.getOwnPropertyNames(Object.prototype)
  fc.assert(
    fc.property(layer, layer, (a, b) => {
      const inputs = [structuredClone(a), structuredClone(b)].map((one) => JSON.stringify(one))
      const [lower, upper] = [tree(a), tree(b)]
      const values = [plainValue(lower), plainValue(upper)].map((one) => JSON.stringify(one))
      const result = plainValue(merge(lower, upper))
      return (
        Object.getPrototypeOf(result) === Object.prototype &&
        JSON.stringify(Object.getOwnPropertyNames(Object.prototype)) === JSON.stringify(before) &&
        JSON.stringify([a, b].map((one) => JSON.stringify(one))) === JSON.stringify(inputs) &&
        JSON.stringify([lower, upper].map((one) => JSON.stringify(plainValue(one)))) ===
          JSON.stringify(values)
      )
    }),
  )
})

test('each part of the result comes from the layer that set it', async (t) => {
  const layers = ['first', 'second'].map((flag, index) =>
    treeOf(index === 0 ? { a: 1, b: { c: 1, d: 1 } } : { b: { d: 2 } }, () => ({ kind: 'flag', flag })),
  )
  const origins: string[] = []
  visit(mergeAll(layers), ({ kind, origin }, path) => {
    if (kind === 'leaf' && origin.kind === 'flag') origins.push(`${path.join('.')} ${origin.flag}`)
  })
  t.strictSame(origins, ['a first', 'b.c first', 'b.d second'])
})

/** Sorts the keys of each object in a value. */
function sorted(value: unknown): unknown {
  if (!isObject(value)) return value
  const entries = Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, child]) => [name, sorted(child)]))
}
