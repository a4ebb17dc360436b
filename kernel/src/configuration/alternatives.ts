import type { SchemaError } from './validator.ts'

/**
 * Drops the noise of `anyOf` and `oneOf`, for which Ajv reports the errors of every alternative: the errors of the
 * one that was meant stay, or, when that isn't clear, the error of the alternatives as a whole.
 */
export function withoutAlternatives(errors: readonly SchemaError[]): SchemaError[] {
  const dropped = new Set<SchemaError>()
  for (const whole of errors) {
    if (whole.keyword !== 'anyOf' && whole.keyword !== 'oneOf') continue
    const inner = errors.filter((error) => error.schemaPath.startsWith(`${whole.schemaPath}/`))
    const kept = meant(whole, inner)
    for (const error of [whole, ...inner]) if (!kept.includes(error)) dropped.add(error)
  }
  return errors.filter((error) => !dropped.has(error))
}

/** The alternative that a value is closest to: of the value's type, with the fewest errors. */
function meant(whole: SchemaError, inner: readonly SchemaError[]): readonly SchemaError[] {
  if (whole.params.passingSchemas) return [whole]
  const alternatives = Map.groupBy(
    inner,
    (error) => error.schemaPath.slice(whole.schemaPath.length).split('/')[1],
  )
  const [first, second] = [...alternatives.values()]
    .filter((group) => !group.some((error) => isOtherForm(error, whole)))
    .sort((a, b) => a.length - b.length)
  return first && first.length !== second?.length ? first : [whole]
}

/** Tells whether an error says that the value, or a key that tells alternatives apart, is of another form. */
function isOtherForm({ keyword, instancePath }: SchemaError, whole: SchemaError): boolean {
  const depth = instancePath.slice(whole.instancePath.length).split('/').length - 1
  return keyword === 'type' ? depth === 0 : ['const', 'enum'].includes(keyword) && depth <= 1
}
