"""The providers litellm knows and the variables they read their keys from, as litellm's own tables have them.

litellm is not imported for it: a test compares these tables with the installed litellm, and the prices and names of
models are read from the file inside of its package.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

KEYS: dict[str, tuple[str, ...]] = {
    "ai21": ("AI21_API_KEY",),
    "ai21_chat": ("AI21_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure": ("AZURE_API_KEY",),
    "baseten": ("BASETEN_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "clf_ai_gateway": ("CLF_AI_GATEWAY_API_KEY",),
    "cloudflare": ("CLOUDFLARE_API_KEY",),
    "codestral": ("CODESTRAL_API_KEY",),
    "cohere": ("COHERE_API_KEY",),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "datarobot": ("DATAROBOT_API_TOKEN",),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "edenai": ("EDENAI_API_KEY",),
    "featherless_ai": ("FEATHERLESS_AI_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY",),
    "gemini": (
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
    ),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HUGGINGFACE_API_KEY",),
    "inception": ("INCEPTION_API_KEY",),
    "infinity": ("INFINITY_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "modelscope": ("MODELSCOPE_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nadir": ("NADIR_API_KEY",),
    "nebius": ("NEBIUS_API_KEY",),
    "nlp_cloud": ("NLP_CLOUD_API_KEY",),
    "novita": ("NOVITA_API_KEY",),
    "nvidia_nim": ("NVIDIA_NIM_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PERPLEXITYAI_API_KEY",),
    "qwen_ai_platform": ("QWEN_AI_PLATFORM_API_KEY",),
    "qwencloud": ("QWENCLOUD_API_KEY",),
    "replicate": ("REPLICATE_API_KEY",),
    "tencent": ("TENCENT_API_KEY",),
    "text-completion-codestral": ("CODESTRAL_API_KEY",),
    "text-completion-inception": ("INCEPTION_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY",),
    "vercel_ai_gateway": ("VERCEL_AI_GATEWAY_API_KEY",),
    "volcengine": ("VOLCENGINE_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
    "wandb": ("WANDB_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""The variables of a provider's key, any of which is enough, where litellm's check of the environment names some."""

ALSO: dict[str, tuple[str, ...]] = {"anthropic": ("ANTHROPIC_AUTH_TOKEN",)}
"""Other variables that litellm takes in place of a key."""

_OTHERS = (
    "a2a a2a_agent abliteration aiand aiml aiohttp_openai amazon_nova anthropic_text apertis assemblyai "
    "auto_router aws_polly aws_textract azure_ai azure_speech azure_text bedrock bedrock_mantle bespoke bigmodel "
    "black_forest_labs bytez charity_engine chatgpt chutes clarifai cognition cohere_chat cometapi compactifai "
    "coralbricks cortecs cursor custom custom_openai darkbloom databricks databricks_agent deepgram "
    "docker_model_runner dotprompt elevenlabs empiriolabs empower eu_jev fal_ai friendliai galadriel gdc gigachat "
    "github github_copilot gradient_ai helicone heroku hosted_vllm hostinger_router humanloop hyperbolic "
    "inferenceapis jina_ai kyma lambda_ai langflow langfuse langgraph laya lemonade libertai litellm_agent "
    "litellm_proxy llamafile lm_studio manus maritalk meta meta_llama microsoft_365_copilot milvus minimax "
    "mongodb morph nace nano-gpt neosantara nscale nvidia_riva oci ollama ollama_chat oobabooga openai_like "
    "opencode_go openinfer opensearch ovhcloud parallel_ai parasail petals pg_vector pinstripes poe predibase "
    "prism publicai ragflow recraft reducto refuseless reka runwayml s3_vectors sagemaker sagemaker_chat "
    "sagemaker_nova sail sambanova sap scaledown scaleway scx-ai snowflake soniox stability strands_decider "
    "streamlake synthetic tensormesh text-completion-openai topaz transcribe triton typesafe v0 valkey vertex_ai "
    "vertex_ai_beta vllm wally watsonx watsonx_text xiaomi_mimo xinference zai zerogpu "
)
WITHOUT_KEYS = _OTHERS.split()
"""Providers of whose keys litellm's check knows nothing: local ones, and such with credentials of another kind."""

PROVIDERS = frozenset({*KEYS, *WITHOUT_KEYS})


def provider_of(model: str) -> str | None:
    """The provider of a model string, null when litellm knows none."""
    prefix, slash, _ = model.partition("/")
    if slash and prefix in PROVIDERS:
        return prefix
    listed = model_table().get(model.split(":")[1] if model.startswith("ft:") else model)
    return None if listed is None else str(listed.get("litellm_provider"))


def missing_keys(provider: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that a call to the provider needs one of, when none of them is set."""
    wanted = KEYS.get(provider, ())
    return () if any(variables.get(name) for name in (*wanted, *ALSO.get(provider, ()))) else wanted


def has_price(model: str) -> bool:
    """Whether the cost of a call is known, by litellm's table of prices."""
    known = listed(model)
    return "input_cost_per_token" in known or "tiered_pricing" in known


def listed(model: str) -> Mapping[str, Any]:
    """What litellm's table says of a model, nothing for one that it does not know."""
    table = model_table()
    found: Mapping[str, Any] = table.get(model) or table.get(model.partition("/")[2]) or {}
    return found


_READING = {"image": "supports_vision", "pdf": "supports_pdf_input", "audio": "supports_audio_input"}


def listed_reads(model: str) -> frozenset[str] | None:
    """What the table says that a model reads besides text; null for one that it does not know (W4)."""
    known = listed(model)
    return frozenset(kind for kind, key in _READING.items() if known.get(key)) if known else None


@cache
def model_table() -> Mapping[str, Any]:
    """litellm's table of models, empty when the package has none."""
    found = importlib.util.find_spec("litellm")
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        file = Path(folder) / "model_prices_and_context_window_backup.json"
        if file.is_file():
            table: dict[str, Any] = json.loads(file.read_text("utf-8"))
            return table
    return {}
