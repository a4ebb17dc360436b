/**
 * Replaces a method of one object that does not live long, such as a request. An assignment in the source would keep the object
 * (MEMORY.md, "Functions on objects").
 */
export function replaceMethod<Target, Name extends keyof Target>(
  object: Target,
  name: Name,
  method: Target[Name],
): void {
  object[name] = method
}
