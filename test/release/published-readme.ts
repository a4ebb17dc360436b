/**
 * Makes the README that is published. Links out of the package's folder lead nowhere there, so only their text stays. The
 * package of the SDK has the examples inside.
 *
 * @param hasExamples whether the package has them
 */
export function publishedReadme(text: string, hasExamples: boolean): string {
  const inside = hasExamples ? text.replaceAll('](../examples/', '](examples/') : text
  return inside.replaceAll(/\[([^\]]+)\]\(\.\.\/[^)]*\)/g, '$1')
}
