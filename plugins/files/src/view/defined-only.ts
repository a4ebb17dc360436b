type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The properties that have a value: with `exactOptionalPropertyTypes`, one that is absent isn't `undefined`. */
export function definedOnly<T extends object>(properties: T): Defined<T> {
  const defined: Partial<T> = {}
  for (const name in properties) if (properties[name] !== undefined) defined[name] = properties[name]
  return defined as Defined<T>
}
