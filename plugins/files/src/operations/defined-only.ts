type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The properties with a value. Under `exactOptionalPropertyTypes`, an optional property must not be `undefined`. */
export function definedOnly<T extends object>(properties: T): Defined<T> {
  const defined: Partial<T> = {}
  for (const name in properties) if (properties[name] !== undefined) defined[name] = properties[name]
  return defined as Defined<T>
}
