type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The properties that have a value: with `exactOptionalPropertyTypes`, one that is absent isn't `undefined`. */
export function definedOnly<T extends object>(properties: T): Defined<T> {
  return Object.fromEntries(
    Object.entries(properties).filter(([, value]) => value !== undefined),
  ) as Defined<T>
}
